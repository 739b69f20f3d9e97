//! Checks of `[transport]` and of each group's own transport.

use incastle_congestion::WindowRule;
use incastle_transport::tcp::{LossDetection, MAX_RECEIVE_WINDOW, Recovery};
use incastle_units::{Amount, Span};

use crate::check::group_transport::{GroupTransport, SilentPorts, unmarked, written};
use crate::check::mtu::Oversized;
use crate::check::{mtu, plausible, rdma, udt};
use crate::language::flows::Group;
use crate::language::grammar::value::Value as _;
use crate::language::root::Root;
use crate::language::tcp::{Congestion, EcnMode, Tcp, WindowLimit};
use crate::text::context::Context;
use crate::topology::layout::Layout;
use crate::topology::routes::Routes;

pub(crate) fn check(root: &Root, layout: Option<&Layout>, cx: &mut Context<'_>) {
    if let Some(tcp) = root.transport.tcp() {
        check_tcp("transport", tcp, cx);
    }
    for (name, group) in &root.flows {
        if let Some(tcp) = group.transport.tcp() {
            check_tcp(&format!("flows.{name}.transport"), tcp, cx);
        }
    }
    if let Some(layout) = layout {
        let states: Vec<Routes<'_>> = layout
            .changes()
            .into_iter()
            .map(|at| Routes::new(layout, at))
            .collect();
        let mut oversized = Vec::new();
        for (name, group) in &root.flows {
            let path = format!("flows.{name}.transport");
            // Paths around failed links count, too.
            let mut passed = states[0].passed(group);
            for state in &states[1..] {
                passed.add(&state.passed(group));
            }
            let transport = GroupTransport {
                path: &path,
                group,
                root,
                layout,
                passed: &passed,
            };
            check_path(transport, cx);
            oversized.extend(Oversized::of(transport, cx));
        }
        mtu::report(&oversized, root, layout, cx);
    }
    warn_of_no_deadlines(root, cx);
}

/// Checks a group's transport against the links and ports on its paths.
fn check_path(transport: GroupTransport<'_>, cx: &mut Context<'_>) {
    let GroupTransport {
        path,
        group,
        root,
        layout,
        passed,
    } = transport;
    let silent = SilentPorts::of(passed, group.transport.traffic_class, root, layout);
    if let Some(tcp) = group.transport.tcp()
        && tcp.ecn != EcnMode::Off
        && silent.all()
    {
        warn_of_no_marks(path, &tcp.congestion, cx);
    }
    udt::check(transport, &silent, cx);
    rdma::check(transport, &silent, cx);
}

/// D2TCP without any deadline.
fn warn_of_no_deadlines(root: &Root, cx: &mut Context<'_>) {
    if root
        .flows
        .iter()
        .any(|(_, group)| group.workload.deadline().is_some())
    {
        return;
    }
    let heeds = |group: &Group| {
        let congestion = group.transport.window_control();
        matches!(congestion, Some(Congestion::D2tcp(_)))
    };
    if let Some((name, _)) = root.flows.iter().find(|(_, group)| heeds(group)) {
        cx.warn_at(
            &format!("flows.{name}.transport.congestion"),
            "d2tcp without any deadline is dctcp",
        )
        .help("give finite flows or responses a deadline: deadline = \"20 ms\"");
    }
}

/// A control that reads marks, over ports that set none.
pub(super) fn warn_of_no_marks(path: &str, congestion: &Congestion, cx: &mut Context<'_>) {
    let key = written(path, &["ecn", "congestion"], cx);
    cx.warn_at(
        &key,
        unmarked(&format!("{} with ECN", congestion.word())),
    )
    .help(match congestion {
        Congestion::Prague(_) => "let the switch mark: [switch.queue] with kind = \"dualpi2\", or with \"threshold\" or \"red\"",
        _ => "let the switch mark: [switch.queue] with kind = \"threshold\" or \"red\"",
    });
}

fn check_tcp(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    plausible::check_tcp(path, tcp, cx);
    for (key, span) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto)] {
        if span > tcp.max_rto {
            cx.error_at(
                &written(path, &[key, "max_rto"], cx),
                format!("{key} of {span} is above max_rto of {}", tcp.max_rto),
            );
        }
    }
    for (key, amount) in [
        ("initial_window", WindowLimit::Limited(tcp.initial_window)),
        ("min_cwnd", WindowLimit::Limited(tcp.min_cwnd)),
        ("max_cwnd", tcp.max_cwnd),
        ("receive_window", tcp.receive_window),
    ] {
        if let WindowLimit::Limited(amount) = amount {
            check_window(path, key, amount, tcp, cx);
        }
    }
    if tcp.delayed_ack_count > 1 && tcp.delayed_ack_timeout >= tcp.min_rto {
        cx.warn_at(
            &written(path, &["delayed_ack_timeout", "min_rto"], cx),
            format!(
                "an ACK may be delayed by {}, and a timeout may come after {}: the last segment of \
                 a transfer may be sent again for nothing",
                tcp.delayed_ack_timeout, tcp.min_rto
            ),
        )
        .help("shorten delayed_ack_timeout, or turn delayed ACKs off with delayed_ack_count = 1");
    }
    check_swift(path, tcp, cx);
    check_slow_start(path, tcp, cx);
    check_window_rule(path, tcp, cx);
    check_rack(path, tcp, cx);
    check_probes(path, tcp, cx);
    check_bbr(path, tcp, cx);
    if tcp.congestion.needs_fractions() && tcp.ecn != EcnMode::Dctcp {
        let word = tcp.congestion.word();
        cx.warn_at(
            &format!("{path}.ecn"),
            format!("the sender of {word} without DCTCP's echo"),
        )
        .help(format!(
            "congestion = \"{word}\" is meant for ecn = \"dctcp\""
        ));
    }
}

fn check_swift(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    let Congestion::Swift(swift) = &tcp.congestion else {
        return;
    };
    let (least, most) = (swift.fs_min_cwnd, swift.fs_max_cwnd);
    if least >= most {
        cx.error_at(
            &written(path, &["fs_min_cwnd", "fs_max_cwnd"], cx),
            format!("fs_min_cwnd of {least:?} must be below fs_max_cwnd of {most:?}"),
        )
        .help("the addition to the target falls from one window to the other: 0.1 and 100.0 by default");
    }
    if tcp.delayed_ack_count > 1 {
        cx.warn_at(
            &written(path, &["delayed_ack_count", "congestion"], cx),
            format!(
                "swift with delayed ACKs: it takes their delay of up to {} for the path's",
                tcp.delayed_ack_timeout
            ),
        )
        .help("delayed_ack_count = 1, which is the default of swift");
    }
}

fn check_slow_start(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    if tcp.congestion.knows(tcp.slow_start) {
        return;
    }
    cx.error_at(
        &written(path, &["slow_start", "congestion"], cx),
        format!(
            "slow_start = {} is no choice of {}",
            tcp.slow_start.write(),
            tcp.congestion.word()
        ),
    )
    .help("\"hystart\" is for cubic; \"hystart++\" for new-reno, reno, cubic, dctcp and d2tcp");
}

fn check_window_rule(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    if tcp.congestion.follows(tcp.window_rule) {
        return;
    }
    let word = tcp.congestion.word();
    cx.error_at(
        &written(path, &["window_rule", "congestion"], cx),
        format!("window_rule = \"linux\" is no choice of {word}"),
    )
    .help("it is for new-reno, reno and cubic; set window_rule = \"rfc\"");
}

/// The mechanisms that need the records of RACK-TLP.
fn check_rack(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    let unknown = |keys: Vec<String>| keys.iter().any(|key| key.ends_with("transport.recovery"));
    if tcp.recovery == Recovery::RackTlp || unknown(cx.error_keys()) {
        return;
    }
    let mechanisms = [
        ("tail_loss_probe", tcp.tail_loss_probe, "true"),
        ("dsack", tcp.dsack, "true"),
        ("prr", tcp.prr, "true"),
        ("prr_on_ecn", tcp.prr_on_ecn, "true"),
        ("f_rto", tcp.f_rto, "true"),
        (
            "loss_detection",
            tcp.loss_detection == LossDetection::Linux,
            "\"linux\"",
        ),
        (
            "window_rule",
            tcp.window_rule == WindowRule::Linux,
            "\"linux\"",
        ),
    ];
    for (key, _, value) in mechanisms.iter().filter(|(_, on, _)| *on) {
        cx.error_at(
            &format!("{path}.{key}"),
            format!("{key} = {value} without recovery = \"rack-tlp\""),
        )
        .help("set recovery = \"rack-tlp\", which has selective acknowledgements and the time of each transmission");
    }
}

/// Warns where Linux's probe timer does not wait for a delayed ACK.
fn check_probes(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    let probes = tcp.tail_loss_probe && tcp.loss_detection == LossDetection::Linux;
    if !probes || tcp.delayed_ack_count <= 2 || tcp.delayed_ack_timeout <= Span::from_ms(2) {
        return;
    }
    cx.warn_at(
        &written(path, &["delayed_ack_count", "loss_detection"], cx),
        format!(
            "the ACK of two segments may be delayed by {}, but a probe leaves two round trips and 2 ms after them: \
             one may be sent again for nothing",
            tcp.delayed_ack_timeout
        ),
    )
    .help("delayed_ack_count = 2, as Linux has it, or loss_detection = \"rfc\"");
}

/// Reports the keys that bbr refuses.
fn check_bbr(path: &str, tcp: &Tcp, cx: &mut Context<'_>) {
    if !matches!(tcp.congestion, Congestion::Bbr(_)) {
        return;
    }
    let reasons = [
        (
            "recovery",
            tcp.recovery != Recovery::RackTlp,
            "bbr needs recovery = \"rack-tlp\"",
            "it samples the delivery rate of each transmission, of which rack-tlp has the records",
        ),
        (
            "ecn",
            tcp.ecn != EcnMode::Off,
            "bbr is modelled without ECN",
            "set ecn = \"off\": its draft has no reaction in proportion to marks; prague and dctcp have one",
        ),
        (
            "prr",
            tcp.prr,
            "bbr has a window for recovery, which prr would replace",
            "set prr = false",
        ),
        (
            "prr_on_ecn",
            tcp.prr_on_ecn,
            "bbr is modelled without ECN",
            "set prr_on_ecn = false",
        ),
    ];
    let unknown: Vec<String> = cx.error_keys();
    for (key, wrong, message, help) in reasons {
        let suffix = format!("transport.{key}");
        if wrong && !unknown.iter().any(|key| key.ends_with(&suffix)) {
            let place = written(path, &[key, "congestion"], cx);
            cx.error_at(&place, message).help(help);
        }
    }
}

fn check_window(path: &str, key: &str, amount: Amount, tcp: &Tcp, cx: &mut Context<'_>) {
    if tcp.bytes(amount) < tcp.mss {
        cx.error_at(
            &format!("{path}.{key}"),
            format!(
                "{key} must be at least one segment of {}, found {amount}",
                tcp.mss
            ),
        );
    }
    if tcp.bytes(amount) > MAX_RECEIVE_WINDOW {
        cx.error_at(
            &format!("{path}.{key}"),
            format!("{key} must be at most {MAX_RECEIVE_WINDOW}, found {amount}"),
        )
        .help("more than that cannot be outstanding in TCP (RFC 7323, section 2.3)");
    }
}
