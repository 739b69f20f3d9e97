//! Sessions by their index, as it stands in each sealed datagram. An index names a place and the
//! number of its earlier uses. A late datagram of a closed session therefore does not reach the
//! next one.

use crate::session::Session;

const PLACE_BITS: u32 = 20;
const GENERATIONS: u32 = 1 << (32 - PLACE_BITS);
/// Sessions that there can be.
pub(crate) const PLACES: usize = 1 << PLACE_BITS;

#[derive(Default)]
pub(crate) struct Table {
    places: Vec<Place>,
    free: Vec<u32>,
}

#[derive(Default)]
struct Place {
    generation: u32,
    session: Option<Box<Session>>,
}

impl Table {
    /// An index for a session to come, or for one whose handshake may fail.
    pub(crate) fn reserve(&mut self) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            assert!(self.places.len() < PLACES, "the limits of sessions hold");
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        (self.places[place as usize].generation << PLACE_BITS) | place
    }

    /// Puts a session where an index was reserved.
    pub(crate) fn put(&mut self, index: u32, session: Session) {
        let place = self.place_mut(index).expect("a reserved index");
        assert!(place.session.is_none(), "one session for each index");
        place.session = Some(Box::new(session));
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Session> {
        let place = self.places.get(place(index))?;
        (place.generation == generation(index))
            .then_some(place.session.as_deref())
            .flatten()
    }

    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Session> {
        self.place_mut(index)?.session.as_deref_mut()
    }

    /// Frees an index, whether there is a session or not yet.
    pub(crate) fn free(&mut self, index: u32) {
        let place = self.place_mut(index).expect("an index in use");
        place.session = None;
        place.generation = (place.generation + 1) % GENERATIONS;
        self.free.push(self::place(index) as u32);
    }

    /// Every session and its index, in the order of the places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Session)> {
        (0_u32..).zip(&self.places).filter_map(|(number, place)| {
            let session = place.session.as_deref()?;
            Some(((place.generation << PLACE_BITS) | number, session))
        })
    }

    fn place_mut(&mut self, index: u32) -> Option<&mut Place> {
        self.places
            .get_mut(place(index))
            .filter(|place| place.generation == generation(index))
    }
}

const fn place(index: u32) -> usize {
    (index % (1 << PLACE_BITS)) as usize
}

const fn generation(index: u32) -> u32 {
    index >> PLACE_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_not_given_again_soon() {
        let mut table = Table::default();
        let first = table.reserve();
        table.free(first);
        let second = table.reserve();
        assert_eq!(place(first), place(second));
        assert_ne!(first, second);
        assert!(table.get(first).is_none());
        // 4,096 uses of a place later.
        let mut index = second;
        for _ in 1..GENERATIONS {
            table.free(index);
            index = table.reserve();
        }
        assert_eq!(index, first);
    }
}
