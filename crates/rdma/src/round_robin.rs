//! The round robin of a NIC over its queue pairs.
//!
//! Source: `RdmaEgressQueue::GetNextQindex` of HPCC-ns3. Leaves out: weights, and arbitration between priorities.

use incastle_units::Time;

use crate::queue_pair::{DataAt, QueuePair};

/// What a queue pair can do at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Its next packet may leave.
    Ready,
    /// Its next packet may leave at that instant.
    Later(Time),
    /// Its window is full, its priority is paused, or it waits for data.
    Blocked,
    /// It has sent everything, and everything is acknowledged.
    Finished,
}

impl QueuePair {
    /// What it can do at an instant, where its priority is not paused.
    pub fn turn(&self, now: Time) -> Turn {
        match self.data_at(now) {
            DataAt::Now => Turn::Ready,
            DataAt::At(at) => Turn::Later(at),
            DataAt::Never if self.is_finished() => Turn::Finished,
            DataAt::Never => Turn::Blocked,
        }
    }
}

/// The result of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round<T> {
    /// The queue pair whose turn it is.
    Serve(T),
    /// None may send before that instant; NEVER if none waits for one.
    Idle(Time),
}

/// The queue pairs that have not finished, by their names.
#[derive(Debug)]
pub struct RoundRobin<T> {
    /// In the order in which they joined.
    ring: Vec<T>,
    /// The place of the one served last.
    last: usize,
    /// Those that have left and do not know it yet.
    left: Vec<T>,
}

impl<T> Default for RoundRobin<T> {
    fn default() -> Self {
        Self {
            ring: Vec::new(),
            last: 0,
            left: Vec::new(),
        }
    }
}

impl<T: Copy + PartialEq> RoundRobin<T> {
    /// Adds a queue pair at the end.
    pub fn join(&mut self, name: T) {
        self.ring.push(name);
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }

    /// Whether some have left since [`Self::take_left`].
    pub fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// Takes those that have left.
    pub fn take_left(&mut self) -> impl Iterator<Item = T> {
        self.left.drain(..)
    }

    /// The earliest instant of all queue pairs.
    pub fn earliest(&self, at: impl Fn(T) -> Time) -> Time {
        let all = self.ring.iter().map(|name| at(*name));
        all.min().unwrap_or(Time::NEVER)
    }

    /// The earliest turn of all; zero where one is ready at the instant that `turn` looks at.
    pub fn first_turn(&self, turn: impl Fn(T) -> Turn) -> Time {
        let mut first = Time::NEVER;
        for name in &self.ring {
            match turn(*name) {
                Turn::Ready => return Time::ZERO,
                Turn::Later(at) => first = first.min(at),
                Turn::Blocked | Turn::Finished => {}
            }
        }
        first
    }

    /// The next queue pair. Those that have finished leave when a round passes them.
    pub fn round(&mut self, turn: impl Fn(T) -> Turn) -> Round<T> {
        let count = self.ring.len();
        let mut wake = Time::NEVER;
        let mut finished = usize::MAX;
        let mut served = None;
        let mut place = self.last;
        if place >= count {
            // Others have left.
            place = place.checked_rem(count).unwrap_or(0);
        }
        for _ in 0..count {
            place = if place + 1 < count { place + 1 } else { 0 };
            match turn(self.ring[place]) {
                Turn::Ready => {
                    served = Some(place);
                    break;
                }
                Turn::Later(at) => wake = wake.min(at),
                Turn::Blocked => {}
                Turn::Finished => finished = finished.min(place),
            }
        }
        let name = served.map(|place| self.ring[place]);
        if finished < count {
            // Those before the first one that was met stay until a round meets them.
            let gone = |name: &mut T| turn(*name) == Turn::Finished;
            self.left.extend(self.ring.extract_if(finished.., gone));
            served = name.map(|name| self.place_of(name));
        }
        let (Some(place), Some(name)) = (served, name) else {
            return Round::Idle(wake);
        };
        self.last = place;
        Round::Serve(name)
    }

    fn place_of(&self, name: T) -> usize {
        let place = self.ring.iter().position(|other| *other == name);
        place.expect("a queue pair with a packet stays")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn ring(names: &str) -> RoundRobin<char> {
        let mut ring = RoundRobin::default();
        names.chars().for_each(|name| ring.join(name));
        ring
    }

    #[test]
    fn all_that_are_ready_take_turns() {
        let mut ring = ring("abcd");
        let served = std::iter::repeat_with(|| {
            ring.round(|name| match name {
                'c' => Turn::Later(at(9)),
                _ => Turn::Ready,
            })
        });
        let served: Vec<Round<char>> = served.take(5).collect();
        // The first round begins behind the first place.
        assert_eq!(served, ['b', 'd', 'a', 'b', 'd'].map(Round::Serve));
    }

    #[test]
    fn an_idle_ring_wakes_for_the_earliest() {
        let mut ring = ring("abc");
        let turn = |name| match name {
            'a' => Turn::Later(at(7)),
            'b' => Turn::Later(at(5)),
            _ => Turn::Blocked,
        };
        assert_eq!(ring.round(turn), Round::Idle(at(5)));
        assert_eq!(ring.first_turn(turn), at(5));
        assert_eq!(ring.first_turn(|_| Turn::Blocked), Time::NEVER);
        assert_eq!(ring.first_turn(|_| Turn::Ready), Time::ZERO);
        assert_eq!(ring.earliest(|name| at(u64::from(name))), at(97));
    }

    #[test]
    fn those_that_finished_leave() {
        let mut ring = ring("abcd");
        let turn = |name| match name {
            'd' => Turn::Ready,
            _ => Turn::Finished,
        };
        // The round ends at d, before it meets a.
        assert_eq!(ring.round(turn), Round::Serve('d'));
        assert_eq!(ring.take_left().collect::<String>(), "bc");
        assert_eq!(ring.round(turn), Round::Serve('d'));
        assert_eq!(ring.take_left().collect::<String>(), "a");
        assert_eq!(ring.round(|_| Turn::Finished), Round::Idle(Time::NEVER));
        assert!(ring.is_empty());
    }
}
