//! A case of HPCC's ns-3 simulator in this engine, with all of its oddities.
//!
//! Sources: branch m3 of kwzhao/High-Precision-Congestion-Control: `third.cc`, `rdma-hw.cc`, `switch-mmu.cc`,
//! `qbb-net-device.cc`.

use std::sync::{Arc, Mutex};

use incastle_congestion::{
    Algorithm, Dcqcn, DcqcnConfig, DcqcnForm, Hpcc, HpccConfig, IntWords, MellanoxForm, RateDctcp,
    RateDctcpConfig, RateLimits, RateWindow, Timely, TimelyConfig,
};
use incastle_engine::Simulation;
use incastle_engine::core::{HostIndex, Node, Side};
use incastle_engine::flow::{
    Actions, Application, FlowSpec, Framing, Notice, QueuePairSettings, TransportSpec,
};
use incastle_engine::network::{
    HostConfig, LinkConfig, Network, NetworkBuilder, PriorityConfig, SwitchConfig,
};
use incastle_engine::probe::NoProbe;
use incastle_queueing::{
    AccountingOptions, IngressPortConfig, LinearMarkerConfig, LosslessConfig, PauseMode,
    PauseSenderConfig, PauseThreshold, PriorityEcnConfig, PriorityMemoryConfig, PrioritySet,
    ReleaseAt, SchedulerConfig, hpcc_ns3_alpha, hpcc_ns3_headroom,
};
use incastle_rdma::{Config, Headers, RateChange, Verb};
use incastle_units::{Bytes, Rate, Span, Time};

use super::case::{Case, Flow, Keys, Link};

/// CC_MODE.
const DCQCN: u64 = 1;
const HPCC: u64 = 3;
const TIMELY: u64 = 7;
const DCTCP: u64 = 8;

/// The FCT of each flow, where it finished.
type Fcts = Arc<Mutex<Vec<Option<Span>>>>;

/// An application with one flow.
struct OneFlow {
    number: usize,
    flow: Flow,
    spec: Option<FlowSpec>,
    fcts: Fcts,
}

impl Application for OneFlow {
    fn handle(&mut self, now: Time, notice: Notice, _: &mut Actions) {
        if let Notice::Delivered(_) = notice {
            self.fcts.lock().expect("no test has panicked")[self.number] =
                Some(now - self.flow.start);
        }
    }

    fn handle_timeout(&mut self, _: Time, actions: &mut Actions) {
        let spec = self.spec.take().expect("the flow starts once");
        let flow = actions.open(spec);
        actions.expect(flow.endpoint(Side::Responder), self.flow.bytes);
        actions.write(flow.endpoint(Side::Initiator), self.flow.bytes);
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.spec.is_some().then_some(self.flow.start)
    }
}

fn limits(keys: &Keys, line_rate: Rate) -> RateLimits {
    let bytes = Bytes::new(keys.whole("HAS_WIN") * keys.whole("FIXED_WIN"));
    RateLimits {
        line_rate,
        max_rate: keys.rate("MAX_RATE").min(line_rate),
        min_rate: keys.rate("MIN_RATE"),
        window: match (bytes, keys.is_set("VAR_WIN")) {
            (Bytes::ZERO, _) => RateWindow::Unlimited,
            (bytes, true) => RateWindow::Scaled(bytes),
            (bytes, false) => RateWindow::Fixed(bytes),
        },
        reference_at_line_rate: true,
    }
}

fn dcqcn(keys: &Keys, line_rate: Rate) -> DcqcnConfig {
    DcqcnConfig {
        limits: limits(keys, line_rate),
        form: DcqcnForm::Mellanox(MellanoxForm {
            rate_reduce_monitor_period: keys.microseconds("RATE_DECREASE_INTERVAL"),
            clamp_tgt_rate: keys.is_set("CLAMP_TARGET_RATE"),
            clamp_tgt_rate_after_time_inc: true,
            rate_on_first_cnp: 1.0,
        }),
        g: keys.number("EWMA_GAIN"),
        initial_alpha: 1.0,
        alpha_timer: keys.microseconds("ALPHA_RESUME_INTERVAL"),
        rpg_time_reset: keys.microseconds("RP_TIMER"),
        rpg_byte_reset: None,
        rpg_threshold: keys.whole("FAST_RECOVERY_TIMES") as u32,
        rpg_ai_rate: keys.rate("RATE_AI"),
        rpg_hai_rate: keys.rate("RATE_HAI"),
    }
}

fn hpcc(keys: &Keys, line_rate: Rate) -> HpccConfig {
    HpccConfig {
        limits: limits(keys, line_rate),
        base_rtt: Span::from_ns(keys.whole("BASE_RTT")),
        eta: keys.number("U_TARGET"),
        max_stage: keys.whole("MI_THRESH") as u32,
        ai_rate: keys.rate("RATE_AI"),
        fast_react: keys.is_set("FAST_REACT"),
        multi_rate: keys.is_set("MULTI_RATE"),
        sample_feedback: false,
        int_words: IntWords::Packed {
            multiplier: keys.whole("INT_MULTI") as u32,
        },
    }
}

fn control(keys: &Keys, line_rate: Rate) -> Algorithm {
    match keys.whole("CC_MODE") {
        DCQCN => Dcqcn::new(dcqcn(keys, line_rate)).into(),
        HPCC => Hpcc::new(hpcc(keys, line_rate)).into(),
        TIMELY => Timely::new(TimelyConfig {
            limits: limits(keys, line_rate),
            beta: keys.number("TIMELY_BETA"),
            t_low: Span::from_ns(keys.whole("TIMELY_T_LOW")),
            t_high: Span::from_ns(keys.whole("TIMELY_T_HIGH")),
            ai_rate: keys.rate("RATE_AI"),
            hai_rate: keys.rate("RATE_HAI"),
            ..TimelyConfig::hpcc_ns3(line_rate)
        })
        .into(),
        DCTCP => RateDctcp::new(RateDctcpConfig {
            limits: limits(keys, line_rate),
            mtu: Bytes::new(keys.whole("PACKET_PAYLOAD_SIZE")),
            g: keys.number("EWMA_GAIN"),
            ai_rate: keys.rate("DCTCP_RATE_AI"),
        })
        .into(),
        mode => panic!("CC_MODE {mode} is not one of the four"),
    }
}

/// Queue pairs: 8 bytes of timestamp in TIMELY's packets, 42 of INT in HPCC's, and in its ACKs.
fn queue_pairs(keys: &Keys) -> Config {
    let base = Config::hpcc_ns3();
    let (more, ack) = match keys.whole("CC_MODE") {
        HPCC => (42, 88),
        TIMELY => (8, 60),
        _ => (0, 60),
    };
    Config {
        mtu: keys.whole("PACKET_PAYLOAD_SIZE") as u16,
        headers: Headers {
            data: base.headers.data + more,
            ack,
            ..base.headers
        },
        rate_change: if keys.whole("CC_MODE") == HPCC {
            RateChange::MovesScheduled
        } else {
            RateChange::NextPacket
        },
        ..base
    }
}

impl Case {
    fn switch(&self, node: usize) -> SwitchConfig {
        let first_host = (0..self.nodes).find(|node| !self.is_switch(*node));
        let nic_rate = self.line_rate(first_host.expect("a case has hosts"));
        let links = self.links.iter().filter(|link| link.nodes.contains(&node));
        let port = |link: &Link| IngressPortConfig {
            headroom: hpcc_ns3_headroom(link.rate, link.delay),
            threshold: PauseThreshold::Dynamic {
                alpha: hpcc_ns3_alpha(2, link.rate, nic_rate),
                resume_offset: Bytes::new(3 << 10),
            },
        };
        let memory = PriorityMemoryConfig {
            capacity: Bytes::new(self.keys.whole("BUFFER_SIZE") << 10),
            lossless: PrioritySet::from_bits(!1),
            uncounted: PrioritySet::from_bits(1),
            reserve: Bytes::new(4 << 10),
            egress_alpha: 1.0,
            ports: links.map(port).collect(),
            options: AccountingOptions::HPCC_NS3,
        };
        SwitchConfig {
            memory: None,
            lossless: Some(LosslessConfig {
                memory,
                release_at: ReleaseAt::Begin,
                pause: self.keys.is_set("ENABLE_PFC").then_some(PauseSenderConfig {
                    mode: PauseMode::OnOff,
                    ..PauseSenderConfig::default()
                }),
                frame: Bytes::new(43),
            }),
        }
    }

    fn port(&self, owner: usize, link: &Link) -> LinkConfig {
        let mut port = LinkConfig::unlimited(link.rate, link.delay);
        port.ns3_times = true;
        if self.is_switch(owner) {
            let kilobytes = |key| Bytes::new(self.keys.at_rate(key, link.rate) as u64 * 1_000);
            let p_max = self.keys.at_rate("PMAX_MAP", link.rate);
            let marker = LinearMarkerConfig {
                k_min: kilobytes("KMIN_MAP"),
                k_max: kilobytes("KMAX_MAP"),
                // Without an entry both thresholds are zero, and nothing lies between them.
                p_max: if p_max > 0.0 { p_max } else { 1.0 },
            };
            port.priorities = Some(Box::new(PriorityConfig {
                scheduler: SchedulerConfig::RoundRobin,
                ecn: PriorityEcnConfig::hpcc_ns3(marker),
            }));
        }
        port
    }

    /// The network and the host of each node that is one.
    fn network(&self, seed: u64) -> (Network, Vec<Option<HostIndex>>) {
        let mut builder = NetworkBuilder::new(seed);
        builder.order_as_entered();
        builder.pause_mode(PauseMode::OnOff);
        let mut hosts = vec![None; self.nodes];
        let nodes: Vec<Node> = (0..self.nodes)
            .map(|node| {
                if self.is_switch(node) {
                    Node::Switch(builder.switch(format!("switch:{node}"), self.switch(node)))
                } else {
                    let host = builder.host(format!("host:{node}"), HostConfig::default());
                    hosts[node] = Some(host);
                    Node::Host(host)
                }
            })
            .collect();
        for link in &self.links {
            let [a, b] = link.nodes;
            builder.link(nodes[a], nodes[b], self.port(a, link), self.port(b, link));
        }
        (builder.build().expect("every host is reachable"), hosts)
    }

    /// The flow with its queue pair.
    fn spec(&self, flow: &Flow, config: &Arc<Config>, hosts: &[Option<HostIndex>]) -> FlowSpec {
        let host = |node: usize| hosts[node].expect("flows are between hosts");
        let line_rate = self.line_rate(flow.from);
        let controllers = [0, 1].map(|_| control(&self.keys, line_rate));
        let high = self.keys.is_set("ACK_HIGH_PRIO");
        FlowSpec {
            from: host(flow.from),
            to: host(flow.to),
            transport: TransportSpec::Rdma {
                config: Arc::clone(config),
                controllers: Box::new(controllers),
                settings: QueuePairSettings {
                    verb: Verb::Write,
                    control_class: if high { 0 } else { flow.priority },
                    telemetry: self.keys.whole("CC_MODE") == HPCC,
                },
            },
            framing: Framing {
                class: flow.priority,
                ..Framing::IP
            },
            watched: false,
            recorded: false,
        }
    }

    /// Runs the case; returns the FCT of each flow, where it finished.
    pub(super) fn run(&self, seed: u64) -> Vec<Option<Span>> {
        let (network, hosts) = self.network(seed);
        let mut simulation = Simulation::new(network, NoProbe);
        let fcts: Fcts = Arc::new(Mutex::new(vec![None; self.flows.len()]));
        let config = Arc::new(queue_pairs(&self.keys));
        for (number, flow) in self.flows.iter().enumerate() {
            simulation.add_application(Box::new(OneFlow {
                number,
                flow: *flow,
                spec: Some(self.spec(flow, &config, &hosts)),
                fcts: Arc::clone(&fcts),
            }));
        }
        let run = simulation.run(self.keys.stop(), u64::MAX);
        run.expect("time goes on");
        simulation.check_conservation();
        let fcts = fcts.lock().expect("no test has panicked");
        fcts.clone()
    }
}
