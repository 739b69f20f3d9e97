//! The network of a scenario for the soft switch, and its program.
//!
//! Leaves out: endpoints and workloads, which Python derives.

use std::ffi::OsString;
use std::sync::Arc;

use incastle_queueing::{BufferConfig, PortBuffer};
use incastle_realtime::Transports;
use incastle_scenario::Scenario;
use incastle_scenario::language::switch::{Queue, Switch};
use incastle_scenario::topology::layout::{End, Link};
use incastle_softswitch::plan::{FramingPlan, NetworkPlan, PortPlan, QueuePlan, Text};
use incastle_units::Bytes;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::controllers::{ControllerFault, Faults, controllers};

/// Runs the program `softswitch` with its arguments, its own name first. Returns the exit status.
#[pyfunction]
pub(crate) fn softswitch_program(py: Python<'_>, typed: Vec<OsString>) -> u8 {
    py.detach(|| incastle_softswitch::run(typed))
}

/// The same with experiments over our sockets; each transport has its name, and a scenario whose first flows have it.
/// Gives the fault of a controller too, if there was one.
#[pyfunction]
pub(crate) fn sockets_program(
    py: Python<'_>,
    typed: Vec<OsString>,
    transports: Vec<(String, PyRef<'_, crate::scenario::Scenario>)>,
) -> PyResult<(u8, Option<ControllerFault>)> {
    let faults = Arc::new(Faults::default());
    let mut all = Transports::default();
    for (name, scenario) in transports {
        let bound = controllers(py, &scenario.makers, &faults);
        all.add(name, &scenario.inner.with_controllers(&bound))
            .map_err(PyValueError::new_err)?;
    }
    let watched = Arc::clone(&faults);
    all.end_when(move || watched.any());
    let status = py.detach(|| incastle_realtime::run(typed, all));
    Ok((status, faults.take()))
}

/// The plan of a scenario's network, or the reason why the soft switch cannot be it: "links that ...".
pub(crate) fn network_plan(scenario: &Scenario, dilation: u64) -> Result<NetworkPlan, String> {
    let (layout, switches) = (scenario.layout(), scenario.switches());
    let mut ports = Vec::new();
    for link in &layout.links {
        refuse_changes(link)?;
        let (a, b) = link.ends;
        for (from, to) in [(a, b), (b, a)] {
            let (buffer, queue) = match from {
                End::Host(_) => {
                    let buffer = scenario.tables().host.queue.to_port_buffer();
                    (buffer, QueuePlan::DropTail)
                }
                End::Switch(switch) => {
                    let switch = switches[switch];
                    let queue = switch.queue_to(layout.name(to));
                    (buffer_of(switch)?, queue_of(queue, link)?)
                }
            };
            ports.push(PortPlan {
                from: layout.name(from).to_string(),
                to: layout.name(to).to_string(),
                rate: Text(link.rate),
                delay: Text(link.delay),
                buffer: match buffer {
                    PortBuffer::Unlimited => None,
                    PortBuffer::Limited(limit) => Some(Text(limit)),
                },
                queue,
                record: false,
            });
        }
    }
    let plan = NetworkPlan {
        hosts: layout.hosts.iter().map(ToString::to_string).collect(),
        switches: layout.switches.iter().map(ToString::to_string).collect(),
        ports,
        mtu: Text(Bytes::new(1_500)),
        framing: FramingPlan::Ip,
        dilation,
        seed: scenario.seed(),
    };
    plan.graph().map_err(|error| error.to_string())?;
    Ok(plan)
}

fn refuse_changes(link: &Link) -> Result<(), String> {
    let what = if !link.schedule.is_empty() {
        "links whose rate changes (schedule in network.links)"
    } else if !link.failures.is_empty() {
        "links that fail (network.failures)"
    } else if !link.degraded.is_empty() {
        "degraded links (network.degraded)"
    } else {
        return Ok(());
    };
    Err(what.to_owned())
}

fn buffer_of(switch: &Switch) -> Result<PortBuffer, String> {
    if switch.pfc.is_some() {
        return Err("PFC (--set switch.pfc=off)".to_owned());
    }
    if switch.qcn.is_some() {
        return Err("QCN (--set switch.qcn=off)".to_owned());
    }
    match switch.buffer.to_config() {
        BufferConfig::PerPort(buffer) => Ok(buffer),
        BufferConfig::Shared(_) => {
            Err("a buffer that ports share (switch.buffer; \"128 KiB\" is of each port)".to_owned())
        }
    }
}

fn queue_of(queue: &Queue, link: &Link) -> Result<QueuePlan, String> {
    let kind = match queue {
        Queue::Drr(_) => "drr",
        Queue::Priorities(_) => "priorities",
        Queue::DualPi2(_) => "dualpi2",
        Queue::DropTail(_)
        | Queue::Red(_)
        | Queue::Threshold(_)
        | Queue::DoubleThreshold(_)
        | Queue::Linear(_) => return Ok(QueuePlan::of(&queue.to_config(link.rate))),
    };
    Err(format!(
        "queues of the kind {kind:?} (switch.queue.kind; \"drop-tail\" and \"threshold\" have one)"
    ))
}
