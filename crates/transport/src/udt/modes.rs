//! DCUDP's two modes, on both sides (Ye, Mhamdi and Hamdi, sections III.B, IV.A and IV.C).
//!
//! The sender's mode is that of its controller. Each change is announced by OBS-change, repeated until
//! its response. The receiver watches for marks. From the first CE on it requests congestion mode (OBS
//! = 1 in its ACKs), until both conditions of the exit rule hold. Every message may be lost, repeated
//! or late: changes are counted, and a message older than the latest has no effect.

use incastle_units::{Span, Time};

use super::exit_rule::{ExitRule, ExitRuleConfig, ExitStage};
use super::rtt::Rtt;

/// The minimum interval at which OBS-change is repeated.
const MIN_REPEAT: Span = Span::from_us(100);
/// It is doubled as often at most.
const MAX_DOUBLINGS: u32 = 10;

/// A change of the sender's mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// How many there were before it, and itself.
    pub(super) number: u32,
    /// Whether it changed to congestion mode.
    pub(super) congested: bool,
}

/// The congestion bits of a data packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Bits {
    /// CE: it was marked.
    pub(super) ce: bool,
    /// CWR: its sender has slowed down.
    pub(super) cwr: bool,
}

/// An OBS-change without a response.
#[derive(Debug, Clone, Copy)]
struct Pending {
    /// When it leaves (again), or NEVER once that has come.
    repeat_at: Time,
    due: bool,
    sent: u32,
}

/// The sender's side.
#[derive(Debug, Clone, Default)]
pub(super) struct SenderMode {
    /// OBS of the packets sent.
    pub(super) congested: bool,
    /// Changes so far.
    changes: u32,
    pending: Option<Pending>,
    /// The peer's first control packet in which OBS = 0 in an ACK ends the congestion. Earlier ones
    /// may have left before the peer received our request.
    over_from: Option<u64>,
}

impl SenderMode {
    /// The controller's mode; a change is to be announced.
    pub(super) fn set(&mut self, now: Time, congested: bool) -> bool {
        if congested == self.congested {
            return false;
        }
        self.congested = congested;
        self.changes = self.changes.wrapping_add(1);
        self.over_from = None;
        self.pending = Some(Pending {
            repeat_at: now,
            due: false,
            sent: 0,
        });
        true
    }

    /// The timer's instant has come.
    pub(super) fn on_timer(&mut self, now: Time) {
        if let Some(change) = &mut self.pending
            && change.repeat_at <= now
        {
            change.repeat_at = Time::NEVER;
            change.due = true;
        }
    }

    /// Whether OBS-change is due.
    #[inline]
    pub(super) fn is_due(&self, now: Time) -> bool {
        let change = self.pending.as_ref();
        change.is_some_and(|change| change.due || change.repeat_at <= now)
    }

    /// An ACK with OBS = 1 came, the newest so far, as control packet `index` of the peer's.
    pub(super) fn on_requested(&mut self, index: u64) {
        if self.congested {
            self.over_from.get_or_insert(index);
        }
    }

    /// Whether an ACK with OBS = 0, the newest so far, ends congestion mode.
    pub(super) fn is_over(&self, index: u64) -> bool {
        self.congested && self.over_from.is_some_and(|from| index > from)
    }

    /// The response to an OBS-change, as control packet `index` of the peer's; false if that is
    /// late.
    pub(super) fn on_response(&mut self, index: u64, change: u32) -> bool {
        if change != self.changes || self.pending.is_none() {
            return false;
        }
        self.pending = None;
        self.over_from.get_or_insert(index);
        true
    }

    /// When OBS-change must be repeated, or NEVER.
    pub(super) fn repeat_at(&self) -> Time {
        self.pending.map_or(Time::NEVER, |change| change.repeat_at)
    }

    /// The number of the OBS-change that is due, if one is: immediately, then every two round trips,
    /// and ever more rarely.
    pub(super) fn poll(&mut self, now: Time, rtt: Span) -> Option<u32> {
        if !self.is_due(now) {
            return None;
        }
        let change = self.pending.as_mut()?;
        change.due = false;
        let wait = rtt.saturating_mul(2).max(MIN_REPEAT);
        let factor = 1 << change.sent.min(MAX_DOUBLINGS);
        change.repeat_at = now.saturating_add(wait.saturating_mul(factor));
        assert!(change.repeat_at > now, "a change is repeated later");
        change.sent = change.sent.saturating_add(1);
        Some(self.changes)
    }
}

/// The receiver's side.
#[derive(Debug, Clone)]
pub(super) struct Watch {
    config: ExitRuleConfig,
    rule: Option<ExitRule>,
    /// A mark arrived since the last ACK, and the sender has not sent CWR since.
    ce: bool,
    /// A data packet arrived without ECT.
    pub(super) not_ect: bool,
    /// The latest change of the sender's mode.
    change: Option<Change>,
    /// The number of the change whose response is due.
    pub(super) response: Option<u32>,
}

impl Watch {
    pub(super) const fn new(config: ExitRuleConfig) -> Self {
        Self {
            config,
            rule: None,
            ce: false,
            not_ect: false,
            change: None,
            response: None,
        }
    }

    /// OBS of the ACKs: whether there is congestion.
    pub(super) fn observes(&self) -> bool {
        self.stage().is_some_and(|stage| stage != ExitStage::Over)
    }

    fn stage(&self) -> Option<ExitStage> {
        self.rule.as_ref().map(ExitRule::stage)
    }

    /// A data packet arrived; returns whether an ACK must report it immediately: the first mark.
    pub(super) fn on_data(&mut self, Bits { ce, cwr }: Bits) -> bool {
        // RFC 3168, section 6.1.3: CWR ends the echo, unless its own packet is marked.
        self.ce = ce || (self.ce && !cwr);
        let first = ce && !self.observes();
        if first && self.rule.is_none() {
            self.rule = Some(ExitRule::new(self.config));
        }
        if let Some(rule) = &mut self.rule {
            rule.on_data(ce);
        }
        first
    }

    /// ECE of an ACK that leaves.
    pub(super) fn take_echo(&mut self) -> bool {
        std::mem::take(&mut self.ce)
    }

    /// An ACK2 gave a round trip.
    pub(super) fn on_rtt(&mut self, rtt: Span) {
        if let Some(rule) = &mut self.rule {
            rule.on_rtt(rtt);
        }
        if self.change.is_none_or(|change| !change.congested) {
            // The sender never received it, or its change is late and will begin anew: there would
            // be no response to OBS = 0.
            self.forget_if_over();
        }
    }

    fn forget_if_over(&mut self) {
        if self.stage() == Some(ExitStage::Over) {
            self.rule = None;
        }
    }

    /// The interval of ACKs, in congestion mode.
    pub(super) fn ack_interval(&self, rtt: &Rtt) -> Option<Span> {
        let rule = self.rule.as_ref()?;
        Some(rule.ack_interval(rtt.latest(), rtt.idle()))
    }

    /// The sender announces its mode; false if that is late.
    pub(super) fn on_change(&mut self, change: Change) -> bool {
        let ahead = |seen: Change| change.number.wrapping_sub(seen.number).cast_signed();
        match self.change.map(ahead) {
            None | Some(1..) => self.follow(change),
            Some(0) => {}
            Some(..0) => return false,
        }
        self.response = Some(change.number);
        true
    }

    fn follow(&mut self, change: Change) {
        self.change = Some(change);
        let congested = change.congested;
        if congested && !self.observes() {
            // The sender saw a loss, or an ACK from before the end.
            self.rule = Some(ExitRule::new(self.config));
        } else if !congested {
            // Where a mark has arrived since, the ACKs' OBS = 1 will bring the sender back.
            self.forget_if_over();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const RTT: Span = Span::from_us(100);
    const PLAIN: Bits = Bits {
        ce: false,
        cwr: false,
    };
    const CE: Bits = Bits { ce: true, ..PLAIN };
    const CWR: Bits = Bits { cwr: true, ..PLAIN };

    /// A change to congestion mode.
    const fn entry(number: u32) -> Change {
        let congested = true;
        Change { number, congested }
    }

    /// A change to UDP mode.
    const fn exit(number: u32) -> Change {
        let congested = false;
        Change { number, congested }
    }

    fn us(count: u64) -> Time {
        Time::ZERO + Span::from_us(count)
    }

    fn watch() -> Watch {
        Watch::new(ExitRuleConfig {
            k: 2,
            ..ExitRuleConfig::default()
        })
    }

    /// Unmarked packets and level round trips until the rule has both conditions. K = 2: two fractions
    /// and two round trips.
    fn calm(watch: &mut Watch) {
        for _ in 0..8 {
            assert!(!watch.on_data(PLAIN));
            watch.on_rtt(RTT);
        }
        assert!(!watch.observes());
    }

    #[test]
    fn a_change_is_repeated_until_its_response() {
        let mut mode = SenderMode::default();
        assert_eq!(mode.repeat_at(), Time::NEVER);
        assert!(mode.set(us(0), true));
        assert!(!mode.set(us(0), true));
        assert_eq!(mode.poll(us(0), RTT), Some(1));
        assert_eq!(mode.poll(us(199), RTT), None);
        // Two round trips, then four, then eight.
        assert_eq!(mode.repeat_at(), us(200));
        assert_eq!(mode.poll(us(200), RTT), Some(1));
        assert_eq!(mode.repeat_at(), us(600));
        assert_eq!(mode.poll(us(600), RTT), Some(1));
        assert_eq!(mode.repeat_at(), us(1400));
        assert!(mode.on_response(5, 1));
        assert_eq!(mode.poll(us(9999), RTT), None);
        // A repeated response is late.
        assert!(!mode.on_response(6, 1));
    }

    #[test]
    fn a_response_to_an_earlier_change_is_late() {
        let mut mode = SenderMode::default();
        mode.set(us(0), true);
        mode.set(us(1), false);
        assert!(!mode.on_response(3, 1));
        assert_eq!(mode.poll(us(1), RTT), Some(2));
        assert!(mode.on_response(4, 2));
    }

    #[test]
    fn an_ack_from_before_the_peer_knew_does_not_end_the_mode() {
        let mut mode = SenderMode::default();
        // Entered because of a NAK: ACKs with OBS = 0 are still in flight.
        mode.set(us(0), true);
        assert!(!mode.is_over(7));
        assert!(mode.on_response(9, 1));
        assert!(!mode.is_over(8));
        assert!(mode.is_over(10));
        // Entered because of an ACK with OBS = 1: the next one with OBS = 0 counts.
        let mut mode = SenderMode::default();
        mode.set(us(0), true);
        mode.on_requested(3);
        assert!(mode.is_over(4));
        mode.set(us(1), false);
        assert!(!mode.is_over(5));
    }

    #[test]
    fn the_first_mark_causes_an_immediate_ack_and_one_ack_echoes_one_interval() {
        let mut watch = watch();
        assert!(!watch.observes());
        assert!(watch.on_data(CE));
        assert!(!watch.on_data(CE));
        assert!(watch.observes());
        assert!(watch.take_echo());
        assert!(!watch.take_echo());
        // CWR ends the echo of its interval, but not that of its packet.
        watch.on_data(CE);
        watch.on_data(CWR);
        assert!(!watch.take_echo());
        watch.on_data(Bits {
            ce: true,
            cwr: true,
        });
        assert!(watch.take_echo());
    }

    #[test]
    fn the_receiver_stops_when_the_sender_has_left() {
        let mut watch = watch();
        watch.on_data(CE);
        assert!(watch.on_change(entry(1)));
        calm(&mut watch);
        let rtt = Rtt::new(RTT);
        assert!(watch.ack_interval(&rtt).is_some());
        assert!(watch.on_change(exit(2)));
        assert_eq!(watch.ack_interval(&rtt), None);
        assert_eq!(watch.response, Some(2));
    }

    #[test]
    fn the_senders_change_does_not_erase_what_was_observed() {
        let mut watch = watch();
        // Two fractions of two packets, 1/2 and 0, and one round trip.
        for ce in [true, false, false, false] {
            watch.on_data(Bits { ce, cwr: false });
        }
        watch.on_rtt(RTT);
        assert!(watch.on_change(entry(1)));
        assert!(watch.observes());
        watch.on_rtt(RTT);
        assert!(!watch.observes());
    }

    #[test]
    fn a_mark_after_the_end_brings_the_mode_back() {
        let mut watch = watch();
        watch.on_data(CE);
        assert!(watch.on_change(entry(1)));
        calm(&mut watch);
        // The sender's change to UDP mode crosses a new mark.
        assert!(watch.on_data(CE));
        assert!(watch.on_change(exit(2)));
        assert!(watch.observes());
    }

    #[test]
    fn congestion_unknown_to_the_sender_is_forgotten_when_it_is_over() {
        let mut watch = watch();
        assert!(watch.on_data(CE));
        calm(&mut watch);
        assert_eq!(watch.ack_interval(&Rtt::new(RTT)), None);
    }

    #[test]
    fn late_and_repeated_changes_have_no_effect() {
        let mut watch = watch();
        assert!(watch.on_change(entry(1)));
        assert!(watch.observes());
        // Repeated: another response.
        watch.response = None;
        assert!(watch.on_change(entry(1)));
        assert_eq!(watch.response, Some(1));
        calm(&mut watch);
        assert!(watch.on_change(exit(2)));
        // The first one, from long ago.
        watch.response = None;
        assert!(!watch.on_change(entry(1)));
        assert!(!watch.observes());
        assert_eq!(watch.response, None);
        // A lost change in between does not matter.
        assert!(watch.on_change(entry(5)));
        assert!(watch.observes());
    }

    /// A control packet of the receiver's, with its place among them.
    #[derive(Debug, Clone, Copy)]
    struct Placed {
        index: u64,
        message: Message,
    }

    /// A message of the receiver.
    #[derive(Debug, Clone, Copy)]
    enum Message {
        Ack { observe: bool },
        Response { change: u32 },
    }

    /// Both sides, and everything that is in flight between them, in any order.
    struct Both {
        now: Time,
        mode: SenderMode,
        watch: Watch,
        changes: Vec<Change>,
        messages: Vec<Placed>,
        sent: u64,
        received: BTreeSet<u64>,
        newest: Option<u64>,
    }

    impl Both {
        fn new() -> Self {
            Self {
                now: us(0),
                mode: SenderMode::default(),
                watch: watch(),
                changes: Vec::new(),
                messages: Vec::new(),
                sent: 0,
                received: BTreeSet::new(),
                newest: None,
            }
        }

        fn send(&mut self, message: Message) {
            let index = self.sent;
            self.messages.push(Placed { index, message });
            self.sent += 1;
        }

        fn ack(&mut self) {
            let observe = self.watch.observes();
            self.send(Message::Ack { observe });
        }

        fn data(&mut self, ce: bool) {
            if self.watch.on_data(Bits { ce, cwr: false }) {
                self.ack();
            }
            self.watch.on_rtt(RTT);
        }

        fn announce(&mut self) {
            self.now += Span::from_us(70);
            if let Some(number) = self.mode.poll(self.now, RTT) {
                let congested = self.mode.congested;
                self.changes.push(Change { number, congested });
            }
        }

        fn receive(&mut self, change: Change) {
            self.watch.on_change(change);
            if let Some(change) = self.watch.response.take() {
                self.send(Message::Response { change });
            }
        }

        /// Handles a control packet as the connection does.
        fn receive_control(&mut self, Placed { index, message }: Placed) {
            if !self.received.insert(index) {
                return;
            }
            match message {
                Message::Response { change } => {
                    self.mode.on_response(index, change);
                }
                Message::Ack { observe } if self.newest.is_none_or(|newest| index > newest) => {
                    self.newest = Some(index);
                    if observe {
                        self.mode.set(self.now, true);
                        self.mode.on_requested(index);
                    } else if self.mode.is_over(index) {
                        self.mode.set(self.now, false);
                    }
                }
                Message::Ack { .. } => {}
            }
        }

        /// One step; `which` selects among the packets in flight.
        fn step(&mut self, kind: u8, which: usize) {
            let change = which % self.changes.len().max(1);
            let message = which % self.messages.len().max(1);
            match kind {
                0 => self.data(true),
                1 => self.data(false),
                2 => self.ack(),
                3 => self.announce(),
                // A loss.
                4 => {
                    self.mode.set(self.now, true);
                }
                5 if !self.changes.is_empty() => self.receive(self.changes[change]),
                6 if !self.changes.is_empty() => {
                    self.changes.swap_remove(change);
                }
                7 if !self.messages.is_empty() => self.receive_control(self.messages[message]),
                8 if !self.messages.is_empty() => {
                    self.messages.swap_remove(message);
                }
                _ => {}
            }
        }

        /// From here on nothing is lost, and old packets have arrived.
        fn settle(&mut self) {
            for change in std::mem::take(&mut self.changes) {
                self.receive(change);
            }
            for _ in 0..30 {
                self.now += Span::from_secs(1);
                self.announce();
                for change in std::mem::take(&mut self.changes) {
                    self.receive(change);
                }
                self.ack();
                for message in std::mem::take(&mut self.messages) {
                    self.receive_control(message);
                }
            }
        }
    }

    proptest! {
        #[test]
        fn both_sides_agree_after_any_order_of_lost_repeated_and_late_packets(
            steps in prop::collection::vec((0_u8..9, any::<usize>()), 0..120),
        ) {
            let mut both = Both::new();
            for (kind, which) in steps {
                both.step(kind, which);
            }
            both.settle();
            prop_assert_eq!(both.mode.congested, both.watch.observes());
            prop_assert_eq!(both.mode.repeat_at(), Time::NEVER);
            // Without marks congestion mode ends on both sides, and the ACKs of every round trip too.
            for _ in 0..12 {
                both.data(false);
            }
            both.settle();
            prop_assert!(!both.mode.congested && !both.watch.observes());
            prop_assert!(both.watch.ack_interval(&Rtt::new(RTT)).is_none());
            // And a mark begins it again.
            both.data(true);
            both.settle();
            prop_assert!(both.mode.congested && both.watch.observes());
        }
    }
}
