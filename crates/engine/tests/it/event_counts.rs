//! Event counts: applications that begin when flows of other applications have arrived.

use std::sync::{Arc, Mutex};

use crate::common::{Algo, Star, tcp_config};
use incastle_congestion::{Algorithm, NewReno, NewRenoConfig};
use incastle_engine::core::{EventCountIndex, HostIndex, Side};
use incastle_engine::flow::{Actions, Application, FlowSpec, Framing, Notice, TransportSpec};
use incastle_engine::probe::NoProbe;
use incastle_engine::{Simulation, Status};
use incastle_units::{Span, Time};

/// The events: the time, and the application.
type Log = Arc<Mutex<Vec<(Time, &'static str)>>>;

/// Makes the counts of a test, before anybody else is called.
struct Maker(usize);

impl Application for Maker {
    fn handle(&mut self, _: Time, _: Notice, _: &mut Actions) {}

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        for number in 0..self.0 {
            assert_eq!(actions.event_count(), EventCountIndex::from_index(number));
        }
        self.0 = 0;
    }

    fn poll_timeout(&self) -> Option<Time> {
        (self.0 > 0).then_some(Time::ZERO)
    }
}

/// Sends once, when counts have reached values, and advances one when all has arrived.
struct Step {
    name: &'static str,
    hosts: (usize, usize),
    bytes: u64,
    after: Vec<(usize, u64)>,
    advances: usize,
    log: Log,
    requested: bool,
}

impl Step {
    fn go_on(&mut self, now: Time, actions: &mut Actions) {
        if let Some((count, value)) = self.after.pop() {
            actions.wait(EventCountIndex::from_index(count), value, count as u32);
            return;
        }
        self.log.lock().expect("a lock").push((now, self.name));
        let controller =
            || Algorithm::NewReno(NewReno::new(NewRenoConfig::new(crate::common::MSS)));
        let flow = actions.open(FlowSpec {
            from: HostIndex::from_index(self.hosts.0),
            to: HostIndex::from_index(self.hosts.1),
            transport: TransportSpec::Tcp {
                config: Arc::new(tcp_config(Algo::NewReno)),
                controllers: Box::new([controller(), controller()]),
            },
            framing: Framing::IP,
            watched: false,
            recorded: false,
        });
        actions.expect(flow.endpoint(Side::Responder), self.bytes);
        actions.write(flow.endpoint(Side::Initiator), self.bytes);
    }
}

impl Application for Step {
    fn handle(&mut self, now: Time, notice: Notice, actions: &mut Actions) {
        match notice {
            Notice::Reached(_) => self.go_on(now, actions),
            Notice::Delivered(_) => {
                self.log.lock().expect("a lock").push((now, "arrived"));
                actions.advance(EventCountIndex::from_index(self.advances));
            }
            Notice::Drained(_) | Notice::Finished(_) => {}
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.requested = true;
        self.go_on(now, actions);
    }

    fn poll_timeout(&self) -> Option<Time> {
        (!self.requested).then_some(Time::ZERO + Span::from_us(1))
    }
}

/// A step: its name, hosts and bytes, what it waits for (the last first), what it advances.
type Written<'a> = (&'static str, (usize, usize), u64, &'a [(usize, u64)], usize);

fn run(steps: &[Written<'_>]) -> Vec<(Time, &'static str)> {
    let log = Log::default();
    let network = Star {
        senders: 4,
        ..Star::default()
    };
    let mut simulation = Simulation::new(network.build(), NoProbe);
    simulation.add_application(Box::new(Maker(4)));
    for &(name, hosts, bytes, after, advances) in steps {
        simulation.add_application(Box::new(Step {
            name,
            hosts,
            bytes,
            after: after.to_vec(),
            advances,
            log: Arc::clone(&log),
            requested: false,
        }));
    }
    let status = simulation.run(Time::ZERO + Span::from_secs(1), u64::MAX);
    assert_eq!(status, Ok(Status::Done));
    let log = log.lock().expect("a lock");
    log.clone()
}

#[test]
fn a_flow_begins_the_instant_at_which_all_that_it_waits_for_has_arrived() {
    let log = run(&[
        ("last", (4, 1), 1_000, &[(1, 1), (0, 2)], 3),
        ("long", (1, 2), 200_000, &[], 0),
        ("short", (3, 2), 10_000, &[], 0),
        ("other", (2, 3), 50_000, &[], 1),
    ]);
    let names: Vec<&str> = log.iter().map(|(_, name)| *name).collect();
    assert_eq!(
        names,
        [
            "long", "short", "other", "arrived", "arrived", "arrived", "last", "arrived"
        ]
    );
    let (arrived, begun) = (log[5].0, log[6].0);
    assert_eq!(arrived, begun);
    // 1500 B at 1 Gbit/s take 12 us: the long one lasts 1.6 ms at the least.
    assert!(begun > Time::ZERO + Span::from_us(1600));
}

#[test]
fn a_count_reached_already_is_notified_immediately_and_no_other_ever() {
    let log = run(&[
        ("first", (1, 2), 1_000, &[(2, 0)], 0),
        ("second", (2, 3), 1_000, &[(0, 1)], 1),
        ("third", (3, 4), 1_000, &[(0, 1), (1, 1)], 2),
        ("never", (4, 1), 1_000, &[(2, 2)], 3),
    ]);
    let names: Vec<&str> = log.iter().map(|(_, name)| *name).collect();
    let expected = ["first", "arrived", "second", "arrived", "third", "arrived"];
    assert_eq!(names, expected);
    // Each takes the time of one packet over two links: 2 x (25 us + 1040 B at 1 Gbit/s).
    let took = Span::from_ns(2 * (25_000 + 8_320));
    for (number, (at, _)) in log.iter().enumerate() {
        let steps = (number as u64).div_ceil(2);
        // All but the first wait for the ACK to the one before them, 40 B on the same link.
        let acks = Span::from_ns(320) * steps.saturating_sub(1);
        assert_eq!(*at, Time::ZERO + Span::from_us(1) + took * steps + acks);
    }
}
