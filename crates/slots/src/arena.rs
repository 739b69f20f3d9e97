//! An arena: values in reusable slots, addressed by their place.

/// Reusable slots.
#[derive(Debug)]
pub struct Arena<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Arena<T> {
    /// Keeps a value until it is taken.
    pub fn store(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.slots[place as usize] = value;
            return place;
        }
        self.slots.push(value);
        u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 packets in flight")
    }

    /// Reserves a slot, which has an earlier value, or this one.
    pub fn reserve(&mut self, new: T) -> u32 {
        match self.free.pop() {
            Some(place) => place,
            None => self.store(new),
        }
    }

    /// Copies a value that stays.
    pub fn get(&self, place: u32) -> T {
        self.slots[place as usize]
    }

    /// Takes a value and frees its slot.
    pub fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.slots[place as usize]
    }

    /// Frees a slot.
    pub fn free(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Borrows a value that stays, to be changed.
    pub fn at_mut(&mut self, place: u32) -> &mut T {
        &mut self.slots[place as usize]
    }

    /// Borrows a value that stays.
    pub fn at(&self, place: u32) -> &T {
        &self.slots[place as usize]
    }

    /// The content of a slot; nothing beyond all slots.
    #[inline(always)]
    pub(crate) fn get_at(&self, place: usize) -> Option<&T> {
        self.slots.get(place)
    }

    /// Slots in use.
    pub fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
