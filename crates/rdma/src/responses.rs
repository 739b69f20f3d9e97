//! The responses of READs that a responder still has to send: ranges of PSNs, in their order.
//!
//! A request that comes again moves its range back to where it asks from. The ranges are bounded; a request
//! beyond the bound is not served.

use std::collections::VecDeque;

use crate::config::Config;
use crate::packet::Place;

/// The responses to one request that are still to be sent.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// The PSN of the first response to the latest request.
    first: u64,
    /// The PSN of the next one.
    next: u64,
    /// The PSN after the last one.
    end: u64,
    /// The payload from `first` to the end.
    bytes: u64,
}

/// One response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub(crate) psn: u64,
    pub(crate) payload: u16,
    pub(crate) place: Place,
}

/// The ranges, in the order of their PSNs, without overlaps.
#[derive(Debug, Default)]
pub(crate) struct Responses {
    ranges: VecDeque<Range>,
    /// The PSN after the last response that ever left.
    sent: u64,
}

impl Responses {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The PSN of the next response.
    pub(crate) fn next_psn(&self) -> Option<u64> {
        self.ranges.front().map(|range| range.next)
    }

    /// Whether a further request can be served.
    pub(crate) fn has_room(&self, config: &Config) -> bool {
        self.ranges.len() < usize::from(config.max_reads)
    }

    /// A new request, behind all others.
    pub(crate) fn push(&mut self, first: u64, bytes: u64, config: &Config) {
        let end = first + config.packets(bytes);
        let last = self.ranges.back();
        assert!(
            last.is_none_or(|last| last.end <= first),
            "requests come in order"
        );
        self.ranges.push_back(Range {
            first,
            next: first,
            end,
            bytes,
        });
    }

    /// A request that comes again for these bytes from `first` on. An older copy of a request, which
    /// would reach into another, is not served.
    pub(crate) fn repeat(&mut self, first: u64, bytes: u64, config: &Config) {
        let end = first + config.packets(bytes);
        let at = self.ranges.partition_point(|range| range.end < end);
        let room = self.has_room(config);
        let before = at.checked_sub(1).and_then(|before| self.ranges.get(before));
        if before.is_some_and(|before| before.end > first) {
            return;
        }
        match self.ranges.get_mut(at) {
            Some(range) if range.end == end && first < range.next => {
                (range.first, range.next, range.bytes) = (first, first, bytes);
            }
            // These responses are still to come.
            Some(range) if range.first < end => {}
            _ if room => self.ranges.insert(
                at,
                Range {
                    first,
                    next: first,
                    end,
                    bytes,
                },
            ),
            _ => {}
        }
    }

    /// Takes the next response; gives whether it left before, too.
    pub(crate) fn pop(&mut self, config: &Config) -> Option<(Response, bool)> {
        let range = self.ranges.front_mut()?;
        let psn = range.next;
        range.next += 1;
        let response = Response {
            psn,
            payload: config.payload(range.bytes, psn - range.first),
            place: Place::of(psn == range.first, range.next == range.end),
        };
        if range.next == range.end {
            self.ranges.pop_front();
        }
        let again = psn < self.sent;
        self.sent = self.sent.max(psn + 1);
        Some((response, again))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: fn() -> Config = || Config {
        mtu: 1000,
        any_mtu: true,
        max_reads: 3,
        ..Config::default()
    };

    /// The PSNs of all responses that are to be sent.
    fn psns(responses: &mut Responses) -> Vec<u64> {
        let config = CONFIG();
        let sent = std::iter::from_fn(|| responses.pop(&config));
        sent.map(|(response, _)| response.psn).collect()
    }

    /// Requests for 10..13 and 13..15, of which the first response left.
    fn two_requests() -> Responses {
        let (mut responses, config) = (Responses::default(), CONFIG());
        responses.push(10, 2_500, &config);
        responses.push(13, 2_000, &config);
        assert_eq!(responses.pop(&config).map(|(one, _)| one.psn), Some(10));
        responses
    }

    #[test]
    fn a_repeated_request_moves_its_range_back() {
        let (mut responses, config) = (two_requests(), CONFIG());
        responses.repeat(10, 2_500, &config);
        let first = responses.pop(&config).expect("a response");
        assert_eq!((first.0.place, first.1), (Place::First, true));
        assert_eq!(psns(&mut responses), [11, 12, 13, 14]);
    }

    #[test]
    fn responses_that_are_still_to_come_are_not_skipped() {
        let (mut responses, config) = (two_requests(), CONFIG());
        responses.repeat(12, 500, &config);
        responses.repeat(14, 1_000, &config);
        assert_eq!(psns(&mut responses), [11, 12, 13, 14]);
    }

    #[test]
    fn a_request_whose_responses_left_is_served_again_in_order() {
        let (mut responses, config) = (two_requests(), CONFIG());
        responses.repeat(5, 1_001, &config);
        assert_eq!(psns(&mut responses), [5, 6, 11, 12, 13, 14]);
        responses.repeat(13, 2_000, &config);
        responses.repeat(10, 2_500, &config);
        assert_eq!(psns(&mut responses), [10, 11, 12, 13, 14]);
    }

    /// No requester of this model sends these.
    #[test]
    fn requests_that_overlap_others_are_not_served() {
        let (mut responses, config) = (two_requests(), CONFIG());
        responses.repeat(9, 2_000, &config);
        responses.repeat(12, 3_000, &config);
        responses.repeat(14, 2_000, &config);
        assert_eq!(psns(&mut responses), [11, 12, 13, 14]);
    }

    #[test]
    fn requests_beyond_the_bound_are_not_served() {
        let (mut responses, config) = (two_requests(), CONFIG());
        assert!(responses.has_room(&config));
        responses.repeat(5, 1_000, &config);
        assert!(!responses.has_room(&config));
        responses.repeat(7, 1_000, &config);
        assert_eq!(psns(&mut responses), [5, 11, 12, 13, 14]);
    }
}
