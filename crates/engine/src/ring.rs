//! A growing FIFO ring of small `Copy` values, addressed by ever-increasing positions.

/// The ring. Positions count from 0 and wrap at 2^32; the ring never holds that many.
#[derive(Debug)]
pub(crate) struct Ring<T> {
    slots: Vec<T>,
    head: u32,
    tail: u32,
}

impl<T: Copy> Ring<T> {
    /// An empty ring without memory.
    pub(crate) const fn new() -> Self {
        Self {
            slots: Vec::new(),
            head: 0,
            tail: 0,
        }
    }

    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.tail.wrapping_sub(self.head)
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The position of the first value.
    #[inline]
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }

    /// The position that the next pushed value will have.
    #[inline]
    pub(crate) const fn tail(&self) -> u32 {
        self.tail
    }

    #[inline(always)]
    fn slot(&self, position: u32) -> usize {
        position as usize & (self.slots.len() - 1)
    }

    /// The value at a position, which must be inside the ring.
    #[inline(always)]
    pub(crate) fn at(&self, position: u32) -> &T {
        debug_assert!(
            position.wrapping_sub(self.head) < self.len(),
            "inside the ring"
        );
        &self.slots[self.slot(position)]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: T) {
        *self.reserve(|| value) = value;
        self.commit();
    }

    /// The slot after the last value, to be written and then kept by `commit`. It holds some old
    /// value, or the filler.
    #[inline(always)]
    pub(crate) fn reserve(&mut self, filler: impl FnOnce() -> T) -> &mut T {
        if self.len() as usize == self.slots.len() {
            self.grow(filler());
        }
        let slot = self.slot(self.tail);
        &mut self.slots[slot]
    }

    /// Keeps what was written into the reserved slot.
    #[inline(always)]
    pub(crate) fn commit(&mut self) {
        self.tail = self.tail.wrapping_add(1);
    }

    /// The value pushed last.
    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        if self.is_empty() {
            return None;
        }
        let slot = self.slot(self.tail.wrapping_sub(1));
        Some(&mut self.slots[slot])
    }

    /// Takes the first value.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        let value = self.slots[self.slot(self.head)];
        self.head = self.head.wrapping_add(1);
        Some(value)
    }

    /// The first value.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        (!self.is_empty()).then(|| self.at(self.head))
    }

    /// All values, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|offset| self.at(self.head.wrapping_add(offset)))
    }

    /// Doubles the memory; `filler` stands in the slots that hold nothing yet.
    #[cold]
    fn grow(&mut self, filler: T) {
        let size = (self.slots.len() * 2).max(2);
        let mut slots = vec![filler; size];
        for offset in 0..self.len() {
            let position = self.head.wrapping_add(offset);
            slots[position as usize & (size - 1)] = *self.at(position);
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_deque(steps in prop::collection::vec(any::<Option<u8>>(), 1..300)) {
            let mut ring = Ring::new();
            // Begin near the wrap of positions.
            ring.head = u32::MAX - 20;
            ring.tail = ring.head;
            let mut deque = VecDeque::new();
            for step in steps {
                if let Some(value) = step {
                    ring.push(value);
                    deque.push_back(value);
                } else {
                    prop_assert_eq!(ring.pop(), deque.pop_front());
                }
                prop_assert_eq!(ring.len() as usize, deque.len());
                prop_assert!(ring.iter().eq(deque.iter()));
            }
        }
    }
}
