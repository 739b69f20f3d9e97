//! Checks of `[measure]`.

use incastle_units::Span;

use crate::check::names::static_flows;
use crate::check::rows;
use crate::language::flows::{Group, Stop};
use crate::language::measure::{Capture, Sampling};
use crate::language::root::Root;
use crate::language::selection::{Name, Selection};
use crate::text::context::Context;
use crate::text::node::quoted;
use crate::text::suggest::near;
use crate::topology::layout::Layout;

pub(crate) fn check(root: &Root, layout: &Layout, cx: &mut Context<'_>) {
    let measure = &root.measure;
    let duration = root.run.duration;
    let whole = Interval {
        first: "measure.warmup",
        from: measure.warmup,
        last: "measure.until",
        until: measure.until,
    };
    whole.check(duration, cx);
    if let Sampling::On(queue) = &measure.queue {
        check_ports(&queue.ports, "measure.queue.ports", layout, cx);
    }
    if let Sampling::On(memory) = &measure.buffer_occupancy {
        let switches = &memory.switches;
        switches.resolve(
            &layout.switches,
            "switches",
            "measure.buffer_occupancy.switches",
            cx,
        );
    }
    if let Sampling::On(qcn) = &measure.qcn {
        check_ports(&qcn.ports, "measure.qcn.ports", layout, cx);
    }
    if let Sampling::On(capture) = &measure.pcap {
        check_capture(capture, duration, layout, cx);
    }
    let flows = Flows::of(root, layout);
    if let Sampling::On(window) = &measure.window {
        flows.check(&window.flows, "measure.window", cx);
    }
    if let Sampling::On(throughput) = &measure.throughput {
        flows.check(&throughput.flows, "measure.throughput", cx);
    }
    if let Sampling::On(dcudp) = &measure.dcudp {
        flows.check(&dcudp.flows, "measure.dcudp", cx);
        warn_of_no_dcudp(root, cx);
    }
    if let Sampling::On(qcn) = &measure.qcn {
        flows.check(&qcn.flows, "measure.qcn", cx);
    }
    if let Sampling::On(events) = &measure.events {
        // The number of random flows is unknown before the run.
        let drawn = root
            .flows
            .iter()
            .filter(|(_, group)| group.workload.is_drawn());
        let drawn: Vec<&str> = drawn.map(|(name, _)| name.as_str()).collect();
        flows.check(&events.flows.without(&drawn), "measure.events", cx);
    }
    rows::check(root, layout, &flows.names, cx);
}

/// An interval with its two keys.
struct Interval {
    first: &'static str,
    from: Span,
    last: &'static str,
    until: Stop,
}

impl Interval {
    /// Reports one that is none, or ends after the run.
    fn check(&self, duration: Span, cx: &mut Context<'_>) {
        let end = match self.until {
            Stop::End => duration,
            Stop::At(until) => until,
        };
        let Self { first, from, .. } = self;
        if end > duration {
            let message = format!("until = {end} is after the end of the run at {duration}");
            cx.error_at(self.last, message);
        } else if *from >= end {
            let name = first.rsplit('.').next().unwrap_or(first);
            let message =
                format!("{name} = {from} is not before the end of the measurement at {end}");
            cx.error_at(first, message);
        }
    }
}

/// Modes and rates of DCUDP need a group with that transport.
fn warn_of_no_dcudp(root: &Root, cx: &mut Context<'_>) {
    let spoken = |(_, group): &(String, Group)| group.transport.dcudp().is_some();
    if !root.flows.iter().any(spoken) {
        cx.warn_at(
            "measure.dcudp",
            "no flow is of kind \"dcudp\": its tables will be empty",
        )
        .help("the tables of TCP's windows are asked for with window = [...]");
    }
}

/// The names that `[measure]` can use.
struct Flows<'a> {
    names: Vec<Name>,
    /// Groups without flows because of an error that is already reported.
    broken: Vec<&'a str>,
}

impl<'a> Flows<'a> {
    fn of(root: &'a Root, layout: &Layout) -> Self {
        let mut names = static_flows(root, layout);
        let groups = root.flows.iter().map(|(name, _)| name.as_str());
        let broken: Vec<&str> = groups
            .filter(|group| !names.iter().any(|name| name.role == *group))
            .collect();
        names.extend(broken.iter().map(|group| Name {
            role: (*group).to_owned(),
            index: None,
        }));
        Self { names, broken }
    }

    /// Reports flows that do not exist, unless that only follows from another error.
    fn check(&self, flows: &Selection, key: &str, cx: &mut Context<'_>) {
        let judged = flows.without(&self.broken);
        judged.resolve(&self.names, "flows", &format!("{key}.flows"), cx);
    }
}

/// Reports names of missing links, and an invalid interval.
fn check_capture(capture: &Capture, duration: Span, layout: &Layout, cx: &mut Context<'_>) {
    let interval = Interval {
        first: "measure.pcap.from",
        from: capture.from,
        last: "measure.pcap.until",
        until: capture.until,
    };
    interval.check(duration, cx);
    let key = "measure.pcap.ports";
    if capture.ports.is_empty() {
        cx.error_at(key, "no ports to capture")
            .help("\"all\" are all");
    }
    let valid = layout.ports();
    let names: Vec<&str> = valid.iter().map(String::as_str).collect();
    for name in &capture.ports {
        let one_way = name.replace("<->", "->");
        if one_way == "all" || valid.contains(&one_way) {
            continue;
        }
        let near = near(&one_way, &names);
        let both = quoted(&names[0].replace("->", "<->"));
        let help = format!(
            "{near}a port is named like {}, both directions of its link {both}, all links \"all\"",
            quoted(names[0])
        );
        cx.error_at(key, format!("no link {}", quoted(name)))
            .help(help);
    }
}

/// Reports names of ports that no switch has.
pub(crate) fn check_ports(ports: &[String], key: &str, layout: &Layout, cx: &mut Context<'_>) {
    let valid = layout.switch_ports();
    for port in ports.iter().filter(|port| *port != "all") {
        if !valid.contains(port) {
            let names: Vec<&str> = valid.iter().map(String::as_str).collect();
            let near = near(port, &names);
            cx.error_at(key, format!("no switch port {}", quoted(port)))
                .help(format!("{near}ports are named like {}", quoted(names[0])));
        }
    }
}
