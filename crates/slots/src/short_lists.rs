//! Short lists in reusable slots, addressed by their place.
//!
//! A list fills whole cache lines. The lengths lie apart, close together: an addition touches one line of its list.

use crate::Arena;

/// Up to `N` values, and those of an earlier list behind them.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Values<T, const N: usize>([T; N]);

/// Lists of at most `N` values each.
#[derive(Debug)]
pub struct ShortLists<T, const N: usize> {
    values: Arena<Values<T, N>>,
    /// By place.
    lengths: Vec<u8>,
}

impl<T, const N: usize> Default for ShortLists<T, N> {
    fn default() -> Self {
        const { assert!(N <= u8::MAX as usize, "a length fits into a byte") };
        Self {
            values: Arena::default(),
            lengths: Vec::new(),
        }
    }
}

impl<T: Copy + Default, const N: usize> ShortLists<T, N> {
    /// An empty list.
    #[inline]
    pub fn reserve(&mut self) -> u32 {
        let place = self.values.reserve(Values([T::default(); N]));
        match self.lengths.get_mut(place as usize) {
            Some(length) => *length = 0,
            None => self.lengths.push(0),
        }
        place
    }

    /// Keeps a list until it is freed.
    pub fn store(&mut self, list: impl IntoIterator<Item = T>) -> u32 {
        let place = self.reserve();
        for value in list {
            self.push(place, value);
        }
        place
    }

    /// Adds a value to a list, if there is room.
    #[inline]
    pub fn push(&mut self, place: u32, value: T) {
        let length = &mut self.lengths[place as usize];
        if let Some(free) = self.values.at_mut(place).0.get_mut(usize::from(*length)) {
            *free = value;
            *length += 1;
        }
    }

    /// A list.
    #[inline]
    pub fn get(&self, place: u32) -> &[T] {
        &self.values.at(place).0[..usize::from(self.lengths[place as usize])]
    }

    /// Frees the slot of a list.
    #[inline]
    pub fn free(&mut self, place: u32) {
        self.values.free(place);
    }

    /// Prefetches the first bytes of a list, and the room for its next value. Any place will do.
    #[inline(always)]
    pub fn prefetch(&self, place: u32, bytes: usize) {
        let place = place as usize;
        if let (Some(length), Some(list)) = (self.lengths.get(place), self.values.get_at(place)) {
            incastle_memory::prefetch::first_bytes(list, bytes);
            incastle_memory::prefetch::element(&list.0, usize::from(*length));
        }
    }

    /// Lists in use.
    pub fn used(&self) -> usize {
        self.values.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_room_are_left_out() {
        let mut lists = ShortLists::<u64, 8>::default();
        let other = lists.store([7]);
        for round in 0..2 {
            let list = lists.reserve();
            assert_eq!(lists.get(list), []);
            for value in 1..12 {
                lists.push(list, round * 100 + value);
            }
            let values = lists.get(list).iter().copied();
            assert!(values.eq((1..9).map(|value| round * 100 + value)));
            lists.free(list);
        }
        assert_eq!((lists.get(other), lists.used()), (&[7][..], 1));
        lists.prefetch(u32::MAX, 64);
    }
}
