//! The segments that are outstanding, one record for each transmission (RFC 8985, section 5.2): when
//! it left, and whether it was sent again, reported, or found lost.
//!
//! Leaves out: the conclusions, which are in `rack`. For a sender that samples the delivery rate each record
//! has a snapshot in addition.

use std::collections::VecDeque;

use incastle_congestion::{LostPacket, RateSample};
use incastle_units::Time;

use crate::ranges::{Interval, RangeSet};
use crate::rate_sampler::RateSampler;

/// A segment that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// Its first octet.
    pub seq: u64,
    /// Its octets, the FIN included; at least one.
    pub octets: u32,
    /// Whether its last octet is the FIN, which no selective acknowledgement reports.
    pub fin: bool,
}

/// What is known of a segment that is not cumulatively acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Its last transmission is in the network.
    InFlight,
    /// Its last transmission was lost.
    Lost,
    /// The receiver reported it.
    Sacked,
}

/// A segment, by its last transmission. Its fields are those of [`Transmission`] and five more, in 32 bytes.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// Its first octet.
    pub seq: u64,
    octets: u32,
    fin: bool,
    /// Segment.xmit_ts.
    pub sent_at: Time,
    /// The number of that transmission. RFC 8985 has the time and, where that is equal, the sequence
    /// number; here segments leave at the same instant in any order.
    pub order: u64,
    /// What became of it.
    pub fate: Fate,
    /// Segment.retransmitted.
    pub repeated: bool,
}

impl Record {
    /// The segment as it left.
    pub fn segment(&self) -> Transmission {
        Transmission {
            seq: self.seq,
            octets: self.octets,
            fin: self.fin,
        }
    }

    /// Segment.end_seq.
    #[inline]
    pub fn end(&self) -> u64 {
        self.seq + self.octets()
    }

    /// Its octets, the FIN included.
    #[inline]
    pub fn octets(&self) -> u64 {
        u64::from(self.octets)
    }

    /// Whether reports of all its data have come.
    fn is_reported(&self, sacked: &RangeSet) -> bool {
        let (seq, data_end) = (self.seq, self.end() - u64::from(self.fin));
        seq < data_end && sacked.covered(seq, data_end) == data_end - seq
    }
}

/// The outstanding segments, in the order of their sequence numbers.
///
/// Invariant: the records cover SND.UNA to SND.NXT without a gap, and `pipe` is the sum of those in
/// flight.
#[derive(Debug, Clone)]
pub struct Flight {
    records: VecDeque<Record>,
    sacked: RangeSet,
    sacked_segments: u32,
    lost_segments: u32,
    /// No lost segment begins below, where there are some.
    lost_from: u64,
    pipe: u64,
    /// Transmissions so far.
    transmissions: u64,
    /// The end of everything that was ever sent again, reported or found lost.
    disturbed_end: u64,
    /// Where the delivery rate is sampled.
    sampler: Option<Box<RateSampler>>,
}

impl Flight {
    /// Nothing is outstanding; `sampled` where the delivery rate is to be sampled.
    pub fn new(sampled: bool) -> Self {
        Self {
            // Many flows of a large network have one segment.
            records: VecDeque::with_capacity(1),
            sacked: RangeSet::default(),
            sacked_segments: 0,
            lost_segments: 0,
            lost_from: 0,
            pipe: 0,
            transmissions: 0,
            disturbed_end: 0,
            sampler: sampled.then(|| Box::new(RateSampler::new())),
        }
    }

    /// The delivery that was reported since the last call, where it is sampled.
    pub fn rate_sample(&mut self, now: Time) -> Option<RateSample> {
        self.sampler.as_mut()?.sample(now, self.pipe)
    }

    /// The segments found lost since the last call, where the delivery rate is sampled.
    pub fn take_losses(&mut self) -> Vec<LostPacket> {
        let sampler = self.sampler.as_mut();
        sampler.map_or_else(Vec::new, |sampler| sampler.take_losses())
    }

    /// The application has too little data: samples of what is sent until all this is delivered say so.
    pub fn mark_app_limited(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_app_limited(self.pipe);
        }
    }

    /// The window is full, for samples.
    pub fn mark_cwnd_limited(&mut self) {
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_cwnd_limited(self.pipe);
        }
    }

    /// Whether the delivery rate is sampled.
    #[inline]
    pub fn is_sampled(&self) -> bool {
        self.sampler.is_some()
    }

    /// Octets in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.pipe
    }

    /// RACK.segs_sacked.
    #[inline]
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Segments whose last transmission was lost.
    #[inline]
    pub fn lost_segments(&self) -> u32 {
        self.lost_segments
    }

    /// Octets that the receiver reported above the cumulative acknowledgement.
    pub fn sacked_octets(&self) -> u64 {
        self.sacked.covered(0, u64::MAX)
    }

    /// The segment at SND.UNA.
    #[inline]
    pub fn first(&self) -> Option<&Record> {
        self.records.front()
    }

    /// The segment that was sent last for the first time.
    pub fn last(&self) -> Option<&Record> {
        self.records.back()
    }

    /// The number of segments.
    #[inline]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nothing is outstanding.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A segment left, for the first time or again.
    #[inline(always)]
    pub fn sent(&mut self, segment: Transmission, now: Time) {
        assert!(segment.octets > 0, "a segment carries something");
        let before = self.pipe;
        let last = self.records.back();
        let index = if last.is_none_or(|last| last.end() == segment.seq) {
            self.pipe += u64::from(segment.octets);
            let Transmission { seq, octets, fin } = segment;
            self.records.push_back(Record {
                seq,
                octets,
                fin,
                fate: Fate::InFlight,
                repeated: false,
                sent_at: now,
                order: self.transmissions,
            });
            self.records.len() - 1
        } else {
            self.sent_again(segment, now)
        };
        self.transmissions += 1;
        if let Some(sampler) = &mut self.sampler {
            sampler.sent(index, now, before, self.pipe);
        }
    }

    /// A segment left again; gives its place.
    #[cold]
    fn sent_again(&mut self, segment: Transmission, now: Time) -> usize {
        let index = self.index(segment.seq);
        let record = (self.records.get_mut(index)).expect("the sequence has no hole");
        assert_eq!(record.segment(), segment, "segments keep their bounds");
        assert_ne!(record.fate, Fate::Sacked, "what arrived is not sent again");
        if record.fate == Fate::Lost {
            record.fate = Fate::InFlight;
            self.lost_segments -= 1;
            self.pipe += record.octets();
        }
        record.sent_at = now;
        record.order = self.transmissions;
        record.repeated = true;
        self.disturbed_end = self.disturbed_end.max(record.end());
        index
    }

    /// The transmissions so far; the next one has this number.
    #[inline]
    pub fn transmissions(&self) -> u64 {
        self.transmissions
    }

    /// The place of the segment that holds `seq`, or the number of segments.
    fn index(&self, seq: u64) -> usize {
        self.records.partition_point(|record| record.end() <= seq)
    }

    /// An acknowledgement of everything below `ack`, and of these blocks above it; `on_delivered` takes
    /// each segment that arrived according to it.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        ack: u64,
        blocks: impl Iterator<Item = Interval>,
        mut on_delivered: impl FnMut(&Record),
    ) {
        let end = self.records.back().map_or(ack, Record::end);
        for Interval { start, end: to } in blocks {
            // A block below the acknowledgement repeats what arrived before (RFC 2883).
            if ack < start && start < to && to <= end {
                self.report(start, to, &mut on_delivered);
            }
        }
        while self.records.front().is_some_and(|it| it.end() <= ack) {
            let first = self.records.pop_front().expect("it was there");
            if first.fate != Fate::Sacked {
                on_delivered(&first);
                self.sample_delivery(0, &first);
            }
            self.leave(&first);
            if let Some(sampler) = &mut self.sampler {
                sampler.leave_first();
            }
        }
        self.trim(ack);
        self.sacked.remove_below(ack);
    }

    /// Whether everything outstanding was sent once, in order, and nothing is known of it.
    #[inline]
    pub fn is_calm(&self) -> bool {
        let undisturbed = |first: &Record| first.seq >= self.disturbed_end;
        self.records.front().is_some_and(undisturbed)
    }

    /// An acknowledgement of everything below `ack`, where the flight is calm; gives the last segment that
    /// arrived whole.
    #[inline(always)]
    pub fn acknowledge_calmly(&mut self, ack: u64) -> Option<Record> {
        let mut last = None;
        while self.records.front().is_some_and(|it| it.end() <= ack) {
            last = self.records.pop_front();
            self.pipe -= last.as_ref().map_or(0, Record::octets);
        }
        self.trim(ack);
        last
    }

    /// The receiver reports `from..to`.
    #[inline(never)]
    fn report(&mut self, from: u64, to: u64, on_delivered: &mut impl FnMut(&Record)) {
        let mut at = from;
        loop {
            // Only what is new in the block is visited.
            let gap = self.sacked.gap_after(at);
            if gap.start >= to {
                return;
            }
            let new_end = gap.end.unwrap_or(to).min(to);
            self.sacked.insert(gap.start, new_end);
            self.disturbed_end = self.disturbed_end.max(new_end);
            let first = self.index(gap.start);
            for index in first..self.records.len() {
                let record = self.records[index];
                if record.seq >= new_end {
                    break;
                }
                if record.is_reported(&self.sacked) && record.fate != Fate::Sacked {
                    on_delivered(&record);
                    self.sample_delivery(index, &record);
                    self.leave(&record);
                    self.records[index].fate = Fate::Sacked;
                    self.sacked_segments += 1;
                }
            }
            at = new_end;
        }
    }

    #[inline]
    fn sample_delivery(&mut self, index: usize, record: &Record) {
        if let Some(sampler) = &mut self.sampler {
            sampler.delivered(index, record);
        }
    }

    /// A segment no longer has the fate that it had.
    #[inline]
    fn leave(&mut self, record: &Record) {
        match record.fate {
            Fate::InFlight => self.pipe -= record.octets(),
            Fate::Lost => self.lost_segments -= 1,
            Fate::Sacked => self.sacked_segments -= 1,
        }
    }

    /// An acknowledgement may end inside a segment.
    #[inline]
    fn trim(&mut self, ack: u64) {
        if let Some(first) = self.records.front_mut()
            && first.seq < ack
        {
            let gone = ack - first.seq;
            first.octets -= gone as u32;
            first.seq = ack;
            if first.fate == Fate::InFlight {
                self.pipe -= gone;
            }
        }
    }

    /// Marks segments as lost for which `is_lost` holds, of those in flight, until it returns `None`.
    pub fn mark_lost(&mut self, mut is_lost: impl FnMut(&Record) -> Option<bool>) {
        let mut index = 0;
        while let Some(record) = self.records.get_mut(index) {
            match record.fate {
                // Reported segments are passed over together.
                Fate::Sacked => {
                    let end = record.end();
                    let block = self.sacked.containing(end - 1);
                    index = self.index(block.map_or(end, |block| block.end));
                    continue;
                }
                Fate::Lost => {}
                Fate::InFlight => match is_lost(record) {
                    None => return,
                    Some(false) => {}
                    Some(true) => {
                        record.fate = Fate::Lost;
                        self.pipe -= record.octets();
                        if self.lost_segments == 0 {
                            self.lost_from = record.seq;
                        }
                        self.lost_segments += 1;
                        self.lost_from = self.lost_from.min(record.seq);
                        self.disturbed_end = self.disturbed_end.max(record.end());
                        if let Some(sampler) = &mut self.sampler {
                            sampler.lost(index, record, self.pipe);
                        }
                    }
                },
            }
            index += 1;
        }
    }

    /// The first lost segment.
    pub fn next_lost(&mut self) -> Option<Record> {
        if self.lost_segments == 0 {
            return None;
        }
        let from = self.index(self.lost_from);
        let mut later = self.records.range(from..);
        let lost = *later.find(|record| record.fate == Fate::Lost)?;
        self.lost_from = lost.seq;
        Some(lost)
    }

    /// The last lost segment.
    pub fn last_lost(&self) -> Option<&Record> {
        let mut backwards = self.records.iter().rev();
        backwards.find(|record| record.fate == Fate::Lost)
    }

    /// Nothing counts as reported any more.
    #[cold]
    pub fn forget_reports(&mut self) {
        for record in &mut self.records {
            if record.fate == Fate::Sacked {
                record.fate = Fate::InFlight;
                self.pipe += record.octets();
            }
        }
        self.sacked = RangeSet::default();
        self.sacked_segments = 0;
    }

    /// Nothing was lost: the losses were found in error.
    pub fn unmark(&mut self) {
        for record in &mut self.records {
            if record.fate == Fate::Lost {
                record.fate = Fate::InFlight;
                self.pipe += record.octets();
            }
        }
        self.lost_segments = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OCTETS: u64 = 10;

    /// An operation: acknowledge, report, find lost, forget or send, at a place of what is outstanding.
    fn operations() -> impl Strategy<Value = Vec<(u8, u64, u64)>> {
        prop::collection::vec((0..9_u8, 0..40_u64, 1..6_u64), 0..80)
    }

    /// A segment in a plain list.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Plain {
        seq: u64,
        fate: Fate,
        repeated: bool,
    }

    fn check(flight: &mut Flight, plain: &[Plain]) -> Result<(), TestCaseError> {
        let own: Vec<Plain> = flight
            .records
            .iter()
            .map(|record| Plain {
                seq: record.seq,
                fate: record.fate,
                repeated: record.repeated,
            })
            .collect();
        prop_assert_eq!(own.as_slice(), plain);
        let of = |fate| plain.iter().filter(move |one| one.fate == fate);
        prop_assert_eq!(flight.pipe(), of(Fate::InFlight).count() as u64 * OCTETS);
        prop_assert_eq!(flight.lost_segments() as usize, of(Fate::Lost).count());
        prop_assert_eq!(flight.sacked_segments() as usize, of(Fate::Sacked).count());
        prop_assert_eq!(
            flight.sacked_octets(),
            of(Fate::Sacked).count() as u64 * OCTETS
        );
        let next = flight.next_lost().map(|record| record.seq);
        prop_assert_eq!(next, of(Fate::Lost).next().map(|one| one.seq));
        let undisturbed = |one: &Plain| one.fate == Fate::InFlight && !one.repeated;
        prop_assert!(!flight.is_calm() || plain.iter().all(undisturbed));
        Ok(())
    }

    proptest! {
        #[test]
        fn behaves_like_a_plain_list(operations in operations()) {
            let mut flight = Flight::new(false);
            let mut plain: Vec<Plain> = Vec::new();
            let mut end = 0;
            for (kind, at, len) in operations {
                let una = plain.first().map_or(end, |first| first.seq);
                // Segments from..to of those outstanding.
                let from = at.min(plain.len() as u64) as usize;
                let to = (from + len as usize).min(plain.len());
                match kind {
                    0 => {
                        let ack = una + from as u64 * OCTETS;
                        flight.acknowledge(ack, std::iter::empty(), |_| {});
                        plain.drain(..from);
                        // A receiver acknowledges all that it reported next.
                        let reported = plain.iter().take_while(|one| one.fate == Fate::Sacked);
                        let more = reported.count();
                        let ack = ack + more as u64 * OCTETS;
                        flight.acknowledge(ack, std::iter::empty(), |_| {});
                        plain.drain(..more);
                    }
                    1 | 2 if from > 0 && from < to => {
                        let (start, end) = (plain[from].seq, plain[to - 1].seq + OCTETS);
                        let mut seen = Vec::new();
                        flight.acknowledge(una, [Interval { start, end }].into_iter(), |record| {
                            seen.push(record.seq);
                        });
                        let new = plain[from..to].iter_mut().filter(|one| one.fate != Fate::Sacked);
                        let new: Vec<u64> = new.map(|one| { one.fate = Fate::Sacked; one.seq }).collect();
                        prop_assert_eq!(seen, new);
                    }
                    3 => {
                        let bounds = plain.get(from).map(|one| one.seq).zip(plain.get(to).map(|one| one.seq));
                        let (low, high) = bounds.unwrap_or((0, 0));
                        flight.mark_lost(|record| Some((low..high).contains(&record.seq)));
                        for one in plain.iter_mut().filter(|one| (low..high).contains(&one.seq)) {
                            if one.fate == Fate::InFlight {
                                one.fate = Fate::Lost;
                            }
                        }
                    }
                    4 => {
                        if let Some(lost) = flight.next_lost() {
                            flight.sent(lost.segment(), Time::ZERO);
                            let own = plain.iter_mut().find(|one| one.fate == Fate::Lost);
                            let own = own.expect("the list has it too");
                            *own = Plain { fate: Fate::InFlight, repeated: true, ..*own };
                        }
                    }
                    5 if at == 0 => {
                        flight.unmark();
                        for one in plain.iter_mut().filter(|one| one.fate == Fate::Lost) {
                            one.fate = Fate::InFlight;
                        }
                    }
                    6 if at == 0 => {
                        flight.forget_reports();
                        for one in plain.iter_mut().filter(|one| one.fate == Fate::Sacked) {
                            one.fate = Fate::InFlight;
                        }
                    }
                    _ => {
                        let octets = OCTETS as u32;
                        flight.sent(Transmission { seq: end, octets, fin: false }, Time::ZERO);
                        plain.push(Plain { seq: end, fate: Fate::InFlight, repeated: false });
                        end += OCTETS;
                    }
                }
                check(&mut flight, &plain)?;
            }
        }
    }

    #[test]
    fn a_segment_with_the_fin_is_reported_by_its_data() {
        let mut flight = Flight::new(false);
        for (seq, fin) in [(0, false), (10, true)] {
            let octets = 10 + u32::from(fin);
            flight.sent(Transmission { seq, octets, fin }, Time::ZERO);
        }
        let block = Interval { start: 10, end: 20 };
        flight.acknowledge(0, [block].into_iter(), |_| {});
        assert_eq!((flight.sacked_segments(), flight.pipe()), (1, 10));
    }

    #[test]
    fn an_acknowledgement_may_end_inside_a_segment() {
        let mut flight = Flight::new(false);
        let segment = Transmission {
            seq: 0,
            octets: 10,
            fin: false,
        };
        flight.sent(segment, Time::ZERO);
        flight.acknowledge(4, std::iter::empty(), |_| {});
        assert_eq!(flight.pipe(), 6);
        assert_eq!(flight.first().map(|first| first.seq), Some(4));
    }
}
