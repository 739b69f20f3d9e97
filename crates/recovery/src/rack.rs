//! RACK: losses found by time (RFC 8985, section 6). A segment is lost if one that left later was
//! delivered, and the time for reordering has passed since.
//!
//! Leaves out: the reaction and the timer, which are the sender's.

use std::num::NonZero;

use incastle_units::{Span, Time};

use crate::flight::{Fate, Flight, Record};

/// DupThresh (section 6.2, step 4; its value is that of RFC 6675, section 2).
const DUP_THRESH: u32 = 3;

/// Recoveries without a duplicate report after which the window of reordering is the first again
/// (section 6.2, step 4).
const PERSISTENCE: u32 = 16;

/// Half of the window of the minimum. Section 6.2, step 1 asks for a window without a length; five minutes
/// are Linux's (sysctl `tcp_min_rtt_wlen`).
const HALF_WINDOW: Span = Span::from_secs(150);

/// The minimum of the round trips of the last 2.5 to 5 minutes.
#[derive(Debug, Clone)]
struct MinRtt {
    current: Span,
    previous: Span,
    /// The end of the current half of the window.
    until: Time,
}

impl MinRtt {
    const fn new() -> Self {
        Self {
            current: Span::MAX,
            previous: Span::MAX,
            until: Time::ZERO,
        }
    }

    #[inline]
    fn get(&self) -> Span {
        self.current.min(self.previous)
    }

    #[inline]
    fn sample(&mut self, now: Time, rtt: Span) {
        if now >= self.until {
            self.previous = self.current;
            self.current = Span::MAX;
            self.until = now.saturating_add(HALF_WINDOW);
        }
        self.current = self.current.min(rtt);
    }
}

/// An acknowledgement, and the segments that it delivered.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    now: Time,
    ack: u64,
    /// The returned timestamp, or NEVER.
    echo: Time,
    min_rtt: Span,
    /// The octets.
    pub octets: u64,
    /// Whether a segment is among them that was sent once.
    pub original: bool,
    /// The end of the transmissions that left up to the newest of them, by their numbers, and when that left.
    sent_end: u64,
    sent_at: Time,
    lowest_original: u64,
    /// The end of the highest of them.
    pub highest: u64,
}

impl Delivery {
    /// A segment that it delivered.
    #[inline(always)]
    pub fn note(&mut self, record: &Record) {
        self.octets += record.octets();
        self.highest = self.highest.max(record.end());
        if !record.repeated {
            self.original = true;
            self.lowest_original = self.lowest_original.min(record.end());
        } else if self.may_be_of_earlier(record) {
            return;
        }
        if record.order >= self.sent_end {
            self.sent_end = record.order + 1;
            self.sent_at = record.sent_at;
        }
    }

    /// Section 6.2, step 2: an acknowledgement that may be of an earlier transmission. The timestamp is that of the
    /// segment that moved the cumulative acknowledgement last (RFC 7323, section 4.3): it tells nothing of those
    /// reported above.
    #[cold]
    fn may_be_of_earlier(&self, record: &Record) -> bool {
        let rtt = self.now.saturating_since(record.sent_at);
        let echoed = record.end() <= self.ack && self.echo != Time::NEVER;
        (echoed && self.echo < record.sent_at) || rtt < self.min_rtt
    }
}

/// What step 4 depends on.
#[derive(Debug, Clone, Copy)]
pub struct Reordering {
    /// SND.UNA.
    pub snd_una: u64,
    /// SND.NXT.
    pub snd_nxt: u64,
    /// The acknowledgement reports a duplicate.
    pub dsack: bool,
    /// A recovery has just ended.
    pub recovered: bool,
}

/// The losses found.
#[derive(Debug, Clone, Copy)]
pub struct Detection {
    /// When the reordering timer fires, or NEVER.
    pub timer_at: Time,
    /// The last of the transmissions that were lost again, by its number.
    pub lost_repeat: Option<u64>,
}

impl Detection {
    const NOTHING: Self = Self {
        timer_at: Time::NEVER,
        lost_repeat: None,
    };
}

/// The state of RACK (section 5.3).
#[derive(Debug, Clone)]
pub struct Rack {
    min_rtt: MinRtt,
    /// For RACK.xmit_ts and RACK.end_seq: the transmissions numbered below left no later than one that was
    /// delivered.
    sent_end: u64,
    /// RACK.rtt.
    rtt: Span,
    /// RACK.fack.
    fack: u64,
    reordering_seen: bool,
    /// RACK.dsack_round.
    dsack_round: Option<NonZero<u64>>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            min_rtt: MinRtt::new(),
            sent_end: 0,
            rtt: Span::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
        }
    }
}

impl Rack {
    /// An acknowledgement of everything below `ack` arrives.
    #[inline]
    pub fn delivery(&self, now: Time, ack: u64, echo: Time) -> Delivery {
        Delivery {
            now,
            ack,
            echo,
            min_rtt: self.min_rtt.get(),
            octets: 0,
            original: false,
            sent_end: 0,
            sent_at: Time::NEVER,
            lowest_original: u64::MAX,
            highest: 0,
        }
    }

    /// Steps 1 to 3 of section 6.2.
    #[inline]
    pub fn update(&mut self, delivery: &Delivery, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.min_rtt.sample(delivery.now, rtt);
        }
        if delivery.sent_at != Time::NEVER {
            self.rtt = delivery.now.saturating_since(delivery.sent_at);
            self.min_rtt.sample(delivery.now, self.rtt);
            self.sent_end = self.sent_end.max(delivery.sent_end);
        }
        // In ascending order of the sequence numbers, as step 3 has it.
        self.reordering_seen |= delivery.lowest_original < self.fack;
        self.fack = self.fack.max(delivery.highest);
    }

    /// Whether an acknowledgement without reports shows no more than that segments arrived in order: it can
    /// find neither losses nor reordering.
    #[inline]
    pub fn is_calm(&self, flight: &Flight) -> bool {
        let in_order = |first: &Record| first.order >= self.sent_end;
        self.dsack_round.is_none() && flight.is_calm() && flight.first().is_some_and(in_order)
    }

    /// Steps 1 to 3, where that is so; `last` is the last segment that arrived.
    #[inline(always)]
    pub fn update_calmly(&mut self, now: Time, last: Option<Record>, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.min_rtt.sample(now, rtt);
        }
        if let Some(last) = last {
            self.rtt = now.saturating_since(last.sent_at);
            self.min_rtt.sample(now, self.rtt);
            self.sent_end = last.order + 1;
            self.fack = last.end();
        }
    }

    /// Step 4, the adaptation by duplicates: the window grows once per round with one, and is the
    /// first again after recoveries without.
    #[inline]
    pub fn adapt(&mut self, event: Reordering) {
        if self.dsack_round.is_some() || event.dsack || event.recovered {
            self.adapt_to(event);
        }
    }

    #[cold]
    fn adapt_to(&mut self, event: Reordering) {
        if self
            .dsack_round
            .is_some_and(|end| event.snd_una >= end.get())
        {
            self.dsack_round = None;
        }
        if self.dsack_round.is_none() && event.dsack {
            self.dsack_round = NonZero::new(event.snd_nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = PERSISTENCE;
        } else if event.recovered {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// Step 4, RACK.reo_wnd.
    fn reo_wnd(&self, recovering: bool, sacked: u32, srtt: Option<Span>) -> Span {
        if !self.reordering_seen && (recovering || sacked >= DUP_THRESH) {
            return Span::ZERO;
        }
        let quarter = self.min_rtt.get() / 4;
        let window = quarter.saturating_mul(u64::from(self.reo_wnd_mult));
        window.min(srtt.unwrap_or(window))
    }

    /// Step 5: marks lost segments.
    #[inline]
    pub fn detect(
        &self,
        flight: &mut Flight,
        now: Time,
        recovering: bool,
        srtt: Option<Span>,
    ) -> Detection {
        if flight.first().is_none_or(|first| self.ends_search(first)) {
            return Detection::NOTHING;
        }
        self.search(flight, now, recovering, srtt)
    }

    /// Whether none from this segment on left before one that was delivered.
    #[inline]
    fn ends_search(&self, record: &Record) -> bool {
        record.fate == Fate::InFlight && !record.repeated && record.order >= self.sent_end
    }

    #[inline(never)]
    fn search(
        &self,
        flight: &mut Flight,
        now: Time,
        recovering: bool,
        srtt: Option<Span>,
    ) -> Detection {
        let mut found = Detection::NOTHING;
        let wait = self.rtt + self.reo_wnd(recovering, flight.sacked_segments(), srtt);
        let mut timer = None;
        flight.mark_lost(|record| {
            if record.order >= self.sent_end {
                // Segments that were sent once left in this order: none beyond is older.
                return record.repeated.then_some(false);
            }
            let lost_at = record.sent_at.saturating_add(wait);
            if lost_at <= now {
                let repeat = record.repeated.then_some(record.order);
                found.lost_repeat = found.lost_repeat.max(repeat);
                return Some(true);
            }
            timer = timer.max(Some(lost_at));
            Some(false)
        });
        found.timer_at = timer.unwrap_or(Time::NEVER);
        found
    }

    /// Section 6.3: what a timeout of the retransmission timer finds lost, the first segment and all
    /// whose time has passed. Before the first delivery the round trip is SRTT, perhaps of the handshake; without
    /// either no other segment has waited for one.
    pub fn mark_at_timeout(&self, flight: &mut Flight, now: Time, srtt: Option<Span>) {
        let delivered = self.sent_end > 0;
        let rtt = if delivered { Some(self.rtt) } else { srtt };
        let reo_wnd = self.reo_wnd(true, flight.sacked_segments(), srtt);
        let wait = rtt.map_or(Span::MAX, |rtt| rtt + reo_wnd);
        let is_reported = |first: &Record| first.fate == Fate::Sacked;
        if flight.first().is_some_and(is_reported) {
            // RFC 2018, section 5: the first segment leaves again although it was reported. Its receiver has discarded
            // the reported data, so that all reports are void.
            flight.forget_reports();
        }
        let head = flight.first().map(|first| first.order);
        flight.mark_lost(|record| {
            let expired = record.sent_at.saturating_add(wait) <= now;
            Some(Some(record.order) == head || expired)
        });
        let first = flight.first();
        assert!(
            first.is_none_or(|first| first.fate == Fate::Lost),
            "the first segment has timed out: {first:?}"
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flight::Transmission;

    const RTT: Span = Span::from_ms(20);

    fn ms(at: u64) -> Time {
        Time::ZERO + Span::from_ms(at)
    }

    fn segment(nth: u64) -> Transmission {
        Transmission {
            seq: 1000 * nth,
            octets: 1000,
            fin: false,
        }
    }

    /// RACK after an acknowledgement of these segments, which left once at 0 ms, at 20 ms.
    fn after(flight: &mut Flight, ack: u64, blocks: &[(u64, u64)]) -> Rack {
        let mut rack = Rack::default();
        let mut delivery = rack.delivery(ms(20), 1000 * ack, Time::NEVER);
        let blocks = blocks.iter().map(|&(from, to)| crate::Interval {
            start: 1000 * from,
            end: 1000 * to,
        });
        flight.acknowledge(1000 * ack, blocks, |record| delivery.note(record));
        rack.update(&delivery, None);
        rack
    }

    fn flight(segments: u64) -> Flight {
        let mut flight = Flight::new(false);
        (0..segments).for_each(|nth| flight.sent(segment(nth), Time::ZERO));
        flight
    }

    #[test]
    fn the_window_of_reordering() {
        let mut rack = after(&mut flight(2), 1, &[]);
        // Below three reports and outside of recovery: min_RTT / 4 = 5 ms.
        assert_eq!(rack.reo_wnd(false, 2, Some(RTT)), Span::from_ms(5));
        assert_eq!(rack.reo_wnd(false, 3, Some(RTT)), Span::ZERO);
        assert_eq!(rack.reo_wnd(true, 0, Some(RTT)), Span::ZERO);
        rack.reordering_seen = true;
        assert_eq!(rack.reo_wnd(true, 3, Some(RTT)), Span::from_ms(5));
        // Never above SRTT.
        rack.reo_wnd_mult = 3;
        assert_eq!(rack.reo_wnd(true, 3, Some(RTT)), Span::from_ms(15));
        rack.reo_wnd_mult = 9;
        assert_eq!(rack.reo_wnd(true, 3, Some(RTT)), RTT);
    }

    #[test]
    fn the_multiplier_grows_once_a_round_and_lasts_for_sixteen_recoveries() {
        let mut rack = Rack::default();
        let event = |snd_una, dsack, recovered| Reordering {
            snd_una,
            snd_nxt: snd_una + 10,
            dsack,
            recovered,
        };
        rack.adapt(event(0, true, false));
        rack.adapt(event(5, true, false));
        assert_eq!(rack.reo_wnd_mult, 2);
        rack.adapt(event(10, true, false));
        assert_eq!(rack.reo_wnd_mult, 3);
        for _ in 0..15 {
            rack.adapt(event(50, false, true));
        }
        assert_eq!(rack.reo_wnd_mult, 3);
        rack.adapt(event(50, false, true));
        assert_eq!(rack.reo_wnd_mult, 1);
    }

    #[test]
    fn the_minimum_is_forgotten_after_five_minutes() {
        let mut min = MinRtt::new();
        let second = |at| Time::ZERO + Span::from_secs(at);
        min.sample(second(0), Span::from_ms(1));
        min.sample(second(150), RTT);
        min.sample(second(299), RTT);
        assert_eq!(min.get(), Span::from_ms(1));
        min.sample(second(300), RTT);
        assert_eq!(min.get(), RTT);
    }

    #[test]
    fn reordering_is_a_late_segment_that_was_sent_once() {
        let mut segments = flight(4);
        let mut rack = after(&mut segments, 0, &[(2, 3)]);
        assert!(!rack.reordering_seen);
        let mut delivery = rack.delivery(ms(22), 1000, Time::NEVER);
        segments.acknowledge(1000, std::iter::empty(), |record| delivery.note(record));
        rack.update(&delivery, None);
        assert!(rack.reordering_seen);
    }

    #[test]
    fn losses_and_the_timer() {
        // Of five segments the fourth is reported: three left before it, one after.
        let mut segments = flight(5);
        let rack = after(&mut segments, 0, &[(3, 4)]);
        let found = rack.detect(&mut segments, ms(20), false, Some(RTT));
        // 0 + 20 ms + 5 ms.
        assert_eq!((found.timer_at, segments.lost_segments()), (ms(25), 0));
        let found = rack.detect(&mut segments, ms(25), false, Some(RTT));
        assert_eq!(found.timer_at, Time::NEVER);
        assert_eq!((segments.lost_segments(), segments.pipe()), (3, 1000));
    }

    #[test]
    fn a_timeout_takes_the_first_and_those_whose_time_has_passed() {
        let mut segments = flight(3);
        let rack = after(&mut segments, 1, &[]);
        segments.sent(segment(3), ms(200));
        rack.mark_at_timeout(&mut segments, ms(201), Some(RTT));
        assert_eq!((segments.lost_segments(), segments.pipe()), (2, 1000));
    }

    #[test]
    fn a_reported_segment_that_times_out_voids_all_reports() {
        // The second and the fourth of five are reported; then the first alone is acknowledged.
        let mut segments = flight(5);
        let rack = after(&mut segments, 0, &[(1, 2), (3, 4)]);
        segments.acknowledge(1000, std::iter::empty(), |_| {});
        assert_eq!((segments.sacked_segments(), segments.pipe()), (2, 2000));
        segments.sent(segment(5), ms(200));
        rack.mark_at_timeout(&mut segments, ms(201), Some(RTT));
        // All but the last, which left 1 ms before.
        assert_eq!((segments.lost_segments(), segments.pipe()), (4, 1000));
        assert_eq!(
            (segments.sacked_segments(), segments.sacked_octets()),
            (0, 0)
        );
        assert_eq!(segments.next_lost().map(|lost| lost.seq), Some(1000));
    }

    /// Random operations: segments leave, arrive in order or reported, are found lost, and leave again; the
    /// last one as a probe. Four at an instant.
    fn operations() -> impl Strategy<Value = Vec<(u8, u64)>> {
        prop::collection::vec((0..10_u8, 0..4000_u64), 0..200)
    }

    /// The state after an acknowledgement without reports, by the general rule.
    fn generally(mut rack: Rack, mut flight: Flight, now: Time, ack: u64) -> String {
        let mut delivery = rack.delivery(now, ack, Time::NEVER);
        flight.acknowledge(ack, std::iter::empty(), |record| delivery.note(record));
        rack.update(&delivery, Some(RTT));
        let found = rack.detect(&mut flight, now, false, Some(RTT));
        format!("{rack:?} {flight:?} {found:?}")
    }

    /// The same by the rule for calm flights.
    fn calmly(mut rack: Rack, mut flight: Flight, now: Time, ack: u64) -> String {
        let last = flight.acknowledge_calmly(ack);
        rack.update_calmly(now, last, Some(RTT));
        format!("{rack:?} {flight:?} {:?}", Detection::NOTHING)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn calm_acknowledgements_have_the_effect_of_any(operations in operations()) {
            let (mut rack, mut flight) = (Rack::default(), Flight::new(false));
            let mut end = 0;
            for ((kind, at), now) in operations.into_iter().zip(1..) {
                let (now, una) = (ms(now / 4), flight.first().map_or(1000 * end, |first| first.seq));
                let lost = flight.next_lost();
                let mut delivery = rack.delivery(now, una, Time::NEVER);
                match (kind, lost) {
                    (0..3, _) => {
                        flight.sent(segment(end), now);
                        end += 1;
                    }
                    (3..5, Some(lost)) => flight.sent(lost.segment(), now),
                    (5, _) => {
                        let start = una + (1000 + at) / 1000 * 1000;
                        let block = crate::Interval { start, end: start + 1000 };
                        flight.acknowledge(una, [block].into_iter(), |record| delivery.note(record));
                        rack.update(&delivery, None);
                    }
                    (6, _) => {
                        if let Some(last) = flight.last().filter(|last| last.fate != Fate::Sacked) {
                            flight.sent(last.segment(), now);
                        }
                    }
                    (7.., _) => {
                        let ack = (una + at).min(1000 * end);
                        if ack > una && rack.is_calm(&flight) {
                            let any = generally(rack.clone(), flight.clone(), now, ack);
                            prop_assert_eq!(calmly(rack.clone(), flight.clone(), now, ack), any);
                        }
                        flight.acknowledge(ack, std::iter::empty(), |record| delivery.note(record));
                        rack.update(&delivery, Some(RTT));
                    }
                    _ => {}
                }
                rack.detect(&mut flight, now, false, Some(RTT));
            }
        }
    }
}
