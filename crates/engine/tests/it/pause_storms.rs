//! A broken NIC that sends pause frames without a cause: its frames by hand, their spread, and the watchdog.

use crate::common::lossless::Lossless;
use crate::common::{Datagrams, Gap};
use incastle_engine::core::{FlowIndex, HostIndex, PortIndex};
use incastle_engine::flow::Application;
use incastle_engine::layout::PrefetchHints;
use incastle_engine::network::PauseStorm;
use incastle_engine::probe::Probe;
use incastle_engine::{Finished, Simulation, finish};
use incastle_queueing::{
    PortBuffer, Priority, PrioritySet, SentPauses, WatchdogAction, WatchdogConfig,
};
use incastle_units::{Amount, Bytes, Packets, Span, Time};

const LOSSLESS: u8 = 3;
/// The broken one, behind the trunk: four hosts are before it.
const BROKEN: usize = 4;

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn priority() -> Priority {
    Priority::new(LOSSLESS).expect("it is one of eight")
}

/// The last datagram that each of two flows has delivered.
#[derive(Default)]
struct Last([Option<Time>; 2]);

impl PrefetchHints for Last {}

impl Probe for Last {
    fn delivered(&mut self, flow: FlowIndex, _: HostIndex, at: Time, _: Bytes) {
        self.0[flow.index()] = Some(at);
    }
}

/// Host 0 sends to the broken one and to host 1 for 20 ms. The storm begins after 100 us.
fn run(
    fabric: Lossless,
    until: Time,
    watchdog: Option<WatchdogConfig>,
) -> (Finished<Last>, PortIndex) {
    let fabric = Lossless {
        senders: BROKEN,
        ..fabric
    };
    let (network, trunk) = fabric.behind_a_trunk_with(|builder| {
        builder.pause_storm(PauseStorm {
            host: HostIndex::from_index(BROKEN),
            priorities: PrioritySet::only(priority()),
            from: at_us(100),
            until,
        });
        if let Some(config) = watchdog {
            builder.watchdog(config);
        }
    });
    assert!(network.alone_because().is_some());
    let mut simulation = Simulation::new(network, Last::default());
    for to in [BROKEN, 1] {
        let gap = Gap::Constant(Span::from_us(2));
        let mut datagrams = Datagrams::new((0, to), 1_472, gap, at_us(20_000));
        datagrams.class = LOSSLESS;
        let application: Box<dyn Application> = Box::new(datagrams);
        simulation.add_application(application);
    }
    for step in 1..=40 {
        let now = at_us(500) + Span::from_us(500) * (step - 1);
        simulation.run(now, u64::MAX).expect("time goes on");
        simulation.check_conservation();
    }
    (finish(vec![simulation]), trunk)
}

/// 65535 quanta are 335.5392 us at 100 Gbit/s. A frame takes 5.12 ns and 1 us of cable. Six frames begin before 1 ms; the
/// last one, at 100 + 5 x 167.7696 = 938.848 us, pauses until 1275.39232 us.
#[test]
fn frames_of_a_storm_follow_at_half_of_their_time() {
    for nic in [
        PortBuffer::Unlimited,
        PortBuffer::Limited(Amount::Packets(Packets::new(100))),
    ] {
        let fabric = Lossless {
            nic,
            ..Lossless::default()
        };
        let (finished, _) = run(fabric, at_us(1_000), None);
        let network = finished.network;
        let port = network
            .ports()
            .find(|port| network.port_name(*port) == "second->host:4")
            .expect("it is there");
        let end = at_us(20_000);
        let received = network
            .pauses(port, priority(), end)
            .expect("it was paused");
        assert_eq!((received.pauses, received.pause_frames), (1, 6));
        assert_eq!(received.paused_for.as_ps(), 1_275_392_320 - 101_005_120);
        let table = network.pause_table(end);
        let row = table.iter().find(|row| row.port.0 == port.0 ^ 1);
        let sent = SentPauses {
            pauses: 1,
            refreshes: 5,
            resumes: 0,
        };
        assert_eq!(row.expect("the host has sent frames").sent, sent);
    }
}

fn watchdog(action: WatchdogAction) -> WatchdogConfig {
    WatchdogConfig {
        detection: Span::from_us(300),
        restoration: Span::from_us(500),
        action,
    }
}

#[test]
fn a_storm_spreads_to_other_destinations_unless_a_watchdog_ends_it() {
    let end = at_us(20_000);
    let last = |watchdog| {
        let (finished, trunk) = run(Lossless::default(), Time::NEVER, watchdog);
        let trunk = finished.network.pauses(trunk, priority(), end);
        let [broken, other] = finished.probes[0].0;
        (
            broken,
            other.expect("it got some"),
            trunk.expect("a port of a switch"),
        )
    };
    // Switches fill within 2 ms, and host 0 stands still for both destinations.
    let (broken, other, trunk) = last(None);
    assert!(broken.is_some_and(|at| at < at_us(110)), "{broken:?}");
    assert!(other < at_us(4_000), "{other:?}");
    assert!(trunk.paused_for > Span::from_us(16_000));
    // With a watchdog the second switch drops what the broken host would get. The trunk is not paused.
    let (broken, other, trunk) = last(Some(watchdog(WatchdogAction::Drop)));
    assert!(broken.is_some_and(|at| at < at_us(110)), "{broken:?}");
    assert!(other > at_us(19_990), "{other:?}");
    assert!(trunk.paused_for < Span::from_us(400), "{trunk:?}");
    // One that forwards delivers even there.
    let (broken, other, _) = last(Some(watchdog(WatchdogAction::Forward)));
    assert!(broken.is_some_and(|at| at > at_us(19_990)), "{broken:?}");
    assert!(other > at_us(19_990), "{other:?}");
}
