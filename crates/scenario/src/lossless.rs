//! The memory of a switch with priorities, from its keys and its links.
//!
//! The check and the network both use it. Leaves out: the accounting (incastle-queueing).

use incastle_queueing::{
    AccountingOptions, IngressPortConfig, LosslessConfig, LosslessLink, PAUSE_FRAME_SIZE,
    PauseMode, PauseSenderConfig, PauseThreshold, PriorityMemoryConfig, PrioritySet, ReleaseAt,
    hpcc_ns3_alpha, hpcc_ns3_headroom,
};
use incastle_units::{Bytes, Rate};

use crate::language::pfc::{Headroom, Pfc, priority_set};
use crate::language::root::{Compat, Root};
use crate::language::switch::{Buffer, Queue, Switch};
use crate::packet_sizes::PacketSizes;
use crate::topology::layout::{End, Layout, Link};

/// The size of a pause frame of HPCC's simulator (qbb-net-device.cc): PPP 14, IPv4 20, and its fields.
const HPCC_NS3_PAUSE_FRAME: Bytes = Bytes::new(43);

/// The links of a switch, in the order of its ports.
pub fn links_of(switch: usize, layout: &Layout) -> impl Iterator<Item = &Link> {
    let links = layout.links.iter();
    links.filter(move |link| {
        let (a, b) = link.ends;
        [a, b].contains(&End::Switch(switch))
    })
}

/// Whether the ports of a switch have queues for priorities.
pub fn has_priorities(switch: &Switch) -> bool {
    matches!(switch.queue, Queue::Priorities(_))
}

/// The headroom that a link needs, for so many lossless priorities.
pub fn needed_headroom(link: &Link, pfc: &Pfc, root: &Root) -> Bytes {
    let need = LosslessLink {
        rate: link.rate,
        cable_delay: link.delay,
        interface_delay: pfc.interface_delay,
        mtu: PacketSizes::greatest_of(root),
    };
    need.headroom() * priority_set(&pfc.priorities).count() as u64
}

/// The memory of a switch; absent where it has no priorities.
pub fn memory(
    number: usize,
    switch: &Switch,
    root: &Root,
    layout: &Layout,
) -> Option<LosslessConfig> {
    let Buffer::Shared(shared) = switch.buffer else {
        return None;
    };
    if !has_priorities(switch) {
        return None;
    }
    let compat = root.run.compat;
    let pfc = switch.pfc.as_ref();
    let lossless = pfc.map_or(PrioritySet::EMPTY, |pfc| priority_set(&pfc.priorities));
    let nic_rate = layout.access(0).map(|link| link.rate);
    let ports = links_of(number, layout).map(|link| {
        pfc.map_or(UNPAUSED, |pfc| {
            ingress(link, pfc, root, nic_rate.unwrap_or(link.rate))
        })
    });
    let memory = PriorityMemoryConfig {
        capacity: shared.shared,
        lossless,
        uncounted: PrioritySet::EMPTY,
        reserve: pfc.map_or(Bytes::ZERO, |pfc| pfc.reserve),
        egress_alpha: shared.alpha,
        ports: ports.collect(),
        options: AccountingOptions::default(),
    };
    let pause = pfc.filter(|pfc| pfc.pause_frames || compat.is_some());
    let pause = pause.map(|pfc| PauseSenderConfig {
        mode: pause_mode(root),
        quanta: u16::try_from(pfc.quanta).expect("the range of quanta has 16 bits"),
    });
    Some(match compat {
        None => LosslessConfig {
            memory,
            release_at: ReleaseAt::End,
            pause,
            frame: PAUSE_FRAME_SIZE,
        },
        // switch-mmu.cc: packets of queue 0 are not counted, and what leaves is freed with its first bit.
        Some(Compat::HpccNs3) => LosslessConfig {
            memory: PriorityMemoryConfig {
                uncounted: PrioritySet::from_bits(1),
                options: AccountingOptions::HPCC_NS3,
                ..memory
            },
            release_at: ReleaseAt::Begin,
            pause,
            frame: HPCC_NS3_PAUSE_FRAME,
        },
    })
}

/// The end of pauses. HPCC's simulator has no quanta; without PFC its switches send frames, which are ignored.
pub fn pause_mode(root: &Root) -> PauseMode {
    let pauses = |pfc: &Pfc| pfc.pause_frames;
    match root.run.compat {
        None => PauseMode::Quanta,
        Some(Compat::HpccNs3) if root.switch.pfc.as_ref().is_none_or(pauses) => PauseMode::OnOff,
        Some(Compat::HpccNs3) => PauseMode::Ignored,
    }
}

/// A port of a switch without lossless priorities.
const UNPAUSED: IngressPortConfig = IngressPortConfig {
    headroom: Bytes::ZERO,
    threshold: PauseThreshold::Dynamic {
        alpha: 1.0,
        resume_offset: Bytes::ZERO,
    },
};

fn ingress(link: &Link, pfc: &Pfc, root: &Root, nic_rate: Rate) -> IngressPortConfig {
    let compat = root.run.compat;
    IngressPortConfig {
        headroom: match (pfc.headroom, compat) {
            (Headroom::Bytes(bytes), _) => bytes,
            (Headroom::Auto, None) => needed_headroom(link, pfc, root),
            (Headroom::Auto, Some(Compat::HpccNs3)) => hpcc_ns3_headroom(link.rate, link.delay),
        },
        threshold: match (pfc.xoff, pfc.xon) {
            (Some(xoff), Some(xon)) => PauseThreshold::Static { xoff, xon },
            _ => PauseThreshold::Dynamic {
                alpha: match compat {
                    None => pfc.alpha,
                    Some(Compat::HpccNs3) => hpcc_ns3_alpha(shift(pfc.alpha), link.rate, nic_rate),
                },
                resume_offset: pfc.resume_offset,
            },
        },
    }
}

/// The shift of an alpha of 2^-shift, the nearest one.
fn shift(alpha: f64) -> u32 {
    let shifts = 0..32_u32;
    let distance = |shift: &u32| (alpha - 1.0 / (1_u64 << shift) as f64).abs();
    let nearest = shifts.min_by(|a, b| distance(a).total_cmp(&distance(b)));
    nearest.expect("there are shifts")
}
