//! Properties over networks and hosts that are as adverse as they can be to loss recovery: packets are lost,
//! reordered, repeated and marked; interrupts and busy NICs deliver many arrivals before an ACK leaves; timers fire
//! before an ACK can come; windows are tiny; the application writes and closes at any time.
//!
//! Every byte arrives once, the connection closes, and the ACKs of an endpoint never contradict those before.

use incastle_cases::cases;
use incastle_recovery::RangeSet;
use incastle_transport::tcp::{Config, Connection, Flags, LossDetection, Recovery, Role};
use incastle_units::{Bytes, Span};
use proptest::prelude::*;
use proptest::sample::select;

use super::properties::{Weather, any_config, assert_complete, controller, weather};
use super::wire::{FIRST, Gathering, Packet, Wire, ms};

/// The most calls of an application.
const MAX_CALLS: usize = 5;

/// Milliseconds between two calls of an application, and the bytes that it writes then.
type Writes = Vec<(u64, u64)>;

/// Two hosts, the network between them, and their applications.
#[derive(Debug, Clone)]
struct World {
    config: Config,
    weather: Weather,
    dctcp: bool,
    gathering: Gathering,
    /// Microseconds between two interrupts; 0 for one with each arrival.
    interrupts: u64,
    writes: [Writes; 2],
}

/// Timers around the round trip of 20 ms, most of them too short, and windows of a few segments.
fn adverse_config() -> impl Strategy<Value = Config> {
    let timers = (
        select(vec![1_u64, 5, 15, 25, 60, 200]),
        select(vec![1_u64, 10, 40, 1000]),
        select(vec![1_u64, 8, 40, 200]),
    );
    let window = prop::option::of(1..12_u64);
    // Duplicate reports, the probes that cause them, and more.
    let reporting = prop::option::weighted(0.6, any::<[bool; 4]>());
    (any_config(), timers, window, reporting).prop_map(
        |(mut config, (min, first, delay), window, reporting)| {
            let initial = config.initial_window.count() / u64::from(config.mss);
            config.mss = config.mss.max(40);
            config.initial_window = Bytes::new(initial * u64::from(config.mss));
            config.rto.min = Span::from_ms(min);
            config.rto.initial = Span::from_ms(first);
            config.delayed_ack_timeout = Span::from_ms(delay);
            if let Some(segments) = window {
                config.receive_window = Bytes::new(segments * u64::from(config.mss));
            }
            if let Some([probes, prr, f_rto, linux]) = reporting {
                config.recovery = Recovery::RackTlp;
                config.dsack = true;
                [config.tail_loss_probe, config.prr, config.f_rto] = [probes, prr, f_rto];
                config.loss_detection = if linux {
                    LossDetection::Linux
                } else {
                    LossDetection::Rfc
                };
            }
            config
        },
    )
}

fn writes() -> impl Strategy<Value = Writes> {
    prop::collection::vec((0..80_u64, 0..40_000_u64), 0..=MAX_CALLS)
}

fn worlds() -> impl Strategy<Value = World> {
    let gathering = select(vec![Gathering::Off, Gathering::Batch, Gathering::BusyNic]);
    let interrupts = select(vec![0_u64, 500, 3000, 9000]);
    let hosts = (adverse_config(), any::<bool>(), gathering, interrupts);
    (hosts, weather(), [writes(), writes()]).prop_map(|(hosts, weather, writes)| {
        let (config, dctcp, gathering, interrupts) = hosts;
        World {
            config,
            weather,
            dctcp,
            gathering,
            interrupts,
            writes,
        }
    })
}

impl World {
    /// The bytes that each endpoint writes.
    fn sizes(&self) -> [u64; 2] {
        let sum = |writes: &Writes| writes.iter().map(|(_, bytes)| bytes).sum();
        [sum(&self.writes[0]), sum(&self.writes[1])]
    }

    /// Its wire, after the connection has closed.
    fn run(&self) -> Wire {
        let end = |role| Connection::new(&self.config, controller(&self.config, self.dctcp), role);
        let ends = [end(Role::Active), end(Role::Passive)];
        let mut wire = Wire::new(ends, self.weather.judge());
        wire.gathering = self.gathering;
        wire.interrupts = Span::from_us(self.interrupts);
        wire.endpoints[0].open(ms(0));
        // The applications call by turns, so that the calls of one lie between those of the other.
        for call in 0..=MAX_CALLS {
            for (end, writes) in self.writes.iter().enumerate() {
                if let Some((wait, bytes)) = writes.get(call) {
                    wire.run(wire.now + Span::from_ms(*wait));
                    wire.endpoints[end].write(*bytes);
                } else if call == writes.len() {
                    wire.endpoints[end].close();
                }
            }
        }
        wire.run(ms(4_000_000));
        wire
    }
}

/// An ACK acknowledges all that continues it: in the order of their departure, none has a number among the data that
/// one before has reported.
fn check_reports<'a>(acks: impl Iterator<Item = &'a Packet>) -> Result<(), TestCaseError> {
    let mut reported = RangeSet::default();
    for packet in acks {
        let ack = u64::from(packet.sent.segment.ack.wrapping_sub(FIRST));
        prop_assert_eq!(reported.containing(ack), None, "{:?}", packet);
        for block in &packet.sacks {
            let [start, end] = [block.start, block.end].map(|it| u64::from(it.wrapping_sub(FIRST)));
            // The others are of duplicates.
            if start > ack {
                reported.insert(start, end);
            }
        }
        reported.remove_below(ack);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(4_000)))]

    #[test]
    fn adverse_worlds_deliver_all(world in worlds()) {
        let mut wire = world.run();
        assert_complete(&mut wire, world.sizes());
        for end in 0..2 {
            let acks = wire.record.iter().filter(|packet| {
                packet.from == end && packet.has(Flags::ACK) && !packet.has(Flags::SYN)
            });
            check_reports(acks)?;
        }
    }
}
