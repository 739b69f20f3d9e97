//! Properties over the whole simulator, for any network. Finite transfers complete with the right
//! number of bytes, the counters lose nothing, and a repeated run is equal.
//!
//! Random: star or dumbbell, buffers from a few packets up, drop-tail, threshold, RED, shared memory,
//! jitter, coalesced receives, degraded links. Transfers have delayed ACKs, every recovery and algorithm, sizes and
//! starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{Algo, Bulk, degradations, marking_threshold, tcp_config};
use incastle_cases::cases;
use incastle_congestion::PacingRatio;
use incastle_engine::Simulation;
use incastle_engine::core::{FlowIndex, Node};
use incastle_engine::flow::{Actions, Application, Notice};
use incastle_engine::network::{
    Coalescing, Degradation, HostConfig, LinkConfig, Network, NetworkBuilder, PortKind,
    SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_queueing::{PortBuffer, QueueConfig, RedAction, RedConfig, SharedBuffer};
use incastle_transport::tcp;
use incastle_units::{Amount, Bytes, Packets, Rate, Span, Time};
use proptest::prelude::*;

/// A random network.
#[derive(Debug, Clone)]
struct Net {
    /// Two switches with a link between; else one.
    dumbbell: bool,
    senders: usize,
    megabits: u64,
    /// Packets per port; the share of a shared memory where there is one.
    buffer: u64,
    shared: bool,
    queue: QueueConfig,
    jitter: Span,
    coalescing: Option<Coalescing>,
    /// The links to the receiver and between switches.
    degraded: Vec<Degradation>,
    seed: u64,
}

impl Net {
    fn build(&self, kind: PortKind) -> Network {
        let mut builder = NetworkBuilder::new(self.seed);
        let host = HostConfig {
            jitter: self.jitter,
            coalescing: self.coalescing,
            ..HostConfig::default()
        };
        let left = self.switch(&mut builder, "left");
        let right = if self.dumbbell {
            let right = self.switch(&mut builder, "right");
            builder.link(left, right, self.port(kind, 1), self.port(kind, 1));
            right
        } else {
            left
        };
        for index in 0..=self.senders {
            let node = Node::Host(builder.host(format!("host:{index}"), host));
            let switch = if index == self.senders { right } else { left };
            // The receiver's link is as fast as the one between the switches, the others faster.
            let speed = if index == self.senders { 1 } else { 3 };
            let rate = Rate::from_bits_per_second(self.megabits * speed * 1_000_000);
            let up = LinkConfig {
                kind,
                ..LinkConfig::unlimited(rate, Span::from_us(20))
            };
            builder.link(node, switch, up, self.port(kind, speed));
        }
        builder.build().expect("every host can reach every other")
    }

    fn switch(&self, builder: &mut NetworkBuilder, name: &str) -> Node {
        // A port may hold half of what is free: a third of the memory where it is alone.
        let capacity = Bytes::new(self.buffer * 3 * 1_500);
        let memory = self.shared.then(|| SharedBuffer::new(capacity, 0.5));
        Node::Switch(builder.switch(
            name,
            SwitchConfig {
                memory,
                ..SwitchConfig::default()
            },
        ))
    }

    fn port(&self, kind: PortKind, speed: u64) -> LinkConfig {
        let rate = Rate::from_bits_per_second(self.megabits * speed * 1_000_000);
        let limit = Amount::Packets(Packets::new(self.buffer));
        LinkConfig {
            rate,
            delay: Span::from_us(20),
            buffer: if self.shared {
                PortBuffer::Unlimited
            } else {
                PortBuffer::Limited(limit)
            },
            marker: self.queue.build(rate),
            kind,
            degradations: if speed == 1 {
                self.degraded.clone()
            } else {
                Vec::new()
            },
            ..LinkConfig::unlimited(rate, Span::from_us(20))
        }
    }
}

/// A random transfer.
#[derive(Debug, Clone)]
struct Transfer {
    bytes: u64,
    start: Span,
    algo: Algo,
    config: tcp::Config,
    /// From the receiver back to the sender.
    backwards: bool,
}

/// A transfer that counts its completion.
struct Counted {
    bulk: Bulk,
    finished: Arc<AtomicU32>,
}

impl Application for Counted {
    fn handle(&mut self, _: Time, notice: Notice, _: &mut Actions) {
        if matches!(notice, Notice::Finished(_)) {
            self.finished.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn handle_timeout(&mut self, now: Time, actions: &mut Actions) {
        self.bulk.handle_timeout(now, actions);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.bulk.poll_timeout()
    }
}

/// As every so-manieth flow: none.
const NEVER: usize = usize::MAX;

/// Longer than any transfer takes. A port that stores one packet and a sender under Karn's rule make
/// two segments per timeout, which stays backed off to 60 s. So 150 kB take an hour.
const WATCHDOG: Time = Time::from_ps(360_000_000_000_000_000);

/// Runs the transfers to their end and gives the digest. A record is kept of every `recorded`th flow.
fn run(
    net: &Net,
    transfers: &[Transfer],
    kind: PortKind,
    recorded: usize,
) -> Result<u64, TestCaseError> {
    let mut simulation = Simulation::new(net.build(kind), NoProbe);
    let finished = Arc::new(AtomicU32::new(0));
    let mut order: Vec<usize> = (0..transfers.len()).collect();
    order.sort_by_key(|&index| transfers[index].start);
    for &index in &order {
        let transfer = &transfers[index];
        let sender = index % net.senders;
        let ends = if transfer.backwards {
            (net.senders, sender)
        } else {
            (sender, net.senders)
        };
        let start = Time::ZERO + transfer.start;
        let mut bulk = Bulk::new(ends, start, transfer.bytes, transfer.algo);
        bulk.config = transfer.config;
        bulk.close = true;
        bulk.recorded = index % recorded == recorded - 1;
        simulation.add_application(Box::new(Counted {
            bulk,
            finished: finished.clone(),
        }));
    }
    // In the middle, with packets everywhere, and at the end.
    simulation
        .run(Time::ZERO + Span::from_ms(3), u64::MAX)
        .expect("no loop");
    simulation.check_conservation();
    simulation.run(WATCHDOG, u64::MAX).expect("no loop");
    simulation.check_conservation();
    for (flow, &index) in order.iter().enumerate() {
        let delivered = simulation
            .flow(FlowIndex::from_index(flow))
            .responder
            .delivered;
        prop_assert_eq!(delivered, transfers[index].bytes, "flow {}", flow);
    }
    prop_assert_eq!(finished.load(Ordering::Relaxed), transfers.len() as u32);
    Ok(simulation.digest())
}

fn queues() -> impl Strategy<Value = QueueConfig> {
    let actions = prop::sample::select(vec![
        RedAction::Mark,
        RedAction::MarkBelowMax,
        RedAction::Drop,
    ]);
    let red =
        (1..10_u64, 1..20_u64, any::<bool>(), actions).prop_map(|(min, more, gentle, action)| {
            QueueConfig::Red(RedConfig {
                min_th: Amount::Packets(Packets::new(min)),
                max_th: Amount::Packets(Packets::new(min + more)),
                max_p: 0.1,
                w_q: 0.02,
                gentle,
                action,
                ..RedConfig::default()
            })
        });
    prop_oneof![
        Just(QueueConfig::DropTail),
        (0..20_u64).prop_map(marking_threshold),
        red,
    ]
}

fn nets() -> impl Strategy<Value = Net> {
    let coalescing = prop_oneof![
        Just(None),
        (2..20_u32, 1..50_u64).prop_map(|(packets, us)| Some(Coalescing {
            packets,
            within: Span::from_us(us),
        })),
    ];
    (
        (any::<bool>(), 1..5_usize, 50..2_000_u64),
        (1..60_u64, any::<bool>(), queues()),
        (0..20_u64, coalescing, degradations(), any::<u64>()),
    )
        .prop_map(|(shape, memory, hosts)| Net {
            dumbbell: shape.0,
            senders: shape.1,
            megabits: shape.2,
            buffer: memory.0,
            shared: memory.1,
            queue: memory.2,
            jitter: Span::from_us(hosts.0),
            coalescing: hosts.1,
            degraded: hosts.2,
            seed: hosts.3,
        })
}

fn transfers() -> impl Strategy<Value = Transfer> {
    let algo = prop_oneof![
        Just(Algo::NewReno),
        Just(Algo::Cubic),
        Just(Algo::DCTCP),
        Just(Algo::Hystart),
        Just(Algo::HystartPlusPlus),
        Just(Algo::Prague),
        Just(Algo::Swift),
        Just(Algo::Bbr),
    ];
    let recovery = prop_oneof![
        Just(tcp::Recovery::Reno),
        Just(tcp::Recovery::NewReno),
        Just(tcp::Recovery::Sack),
        Just(tcp::Recovery::RackTlp),
    ];
    (
        (0..150_000_u64, 0..5_000_u64, any::<bool>()),
        (algo, recovery, any::<bool>(), any::<bool>()),
        (1..4_u32, 1..9_u32, any::<bool>(), 1..300_u64, any::<bool>()),
        any::<[bool; 5]>(),
    )
        .prop_map(|(size, kind, acks, mechanisms)| {
            let (algo, recovery, handshake, timestamps) = kind;
            let base = tcp_config(algo);
            let recovery = if algo == Algo::Bbr {
                base.recovery
            } else {
                recovery
            };
            let with_rack = mechanisms.map(|on| on && recovery == tcp::Recovery::RackTlp);
            let [tail_loss_probe, dsack, prr, f_rto, linux] = with_rack;
            let config = tcp::Config {
                recovery,
                tail_loss_probe,
                dsack,
                prr: prr && algo != Algo::Bbr,
                prr_on_ecn: prr && algo != Algo::Bbr && f_rto,
                f_rto,
                loss_detection: if linux {
                    tcp::LossDetection::Linux
                } else {
                    tcp::LossDetection::Rfc
                },
                handshake,
                timestamps,
                delayed_ack_count: acks.0,
                burst: acks.1,
                limited_transmit: acks.2,
                pacing: acks.4.then_some(PacingRatio::LINUX),
                rto: tcp::RtoConfig {
                    min: Span::from_ms(acks.3),
                    randomized: acks.2,
                    ..base.rto
                },
                ..base
            };
            Transfer {
                bytes: size.0,
                start: Span::from_us(size.1),
                algo,
                config,
                backwards: size.2,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    #[test]
    fn every_transfer_completes_and_every_run_repeats_itself(
        net in nets(),
        transfers in prop::collection::vec(transfers(), 1..10),
    ) {
        let fast = run(&net, &transfers, PortKind::Fast, NEVER)?;
        prop_assert_eq!(fast, run(&net, &transfers, PortKind::Fast, 2)?, "again, half recorded");
        prop_assert_eq!(fast, run(&net, &transfers, PortKind::General, NEVER)?, "general ports");
    }
}
