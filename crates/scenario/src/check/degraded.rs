//! Checks of `[network.degraded.LABEL]`: keys that go together, and periods after the end.

use incastle_units::Span;

use crate::language::root::Root;
use crate::text::context::Context;

pub(crate) fn check(root: &Root, cx: &mut Context<'_>) {
    let end = root.run.duration;
    for (label, degraded) in &root.network.degraded {
        let path = format!("network.degraded.{label}");
        if degraded.rate.is_none() && !degraded.affects_packets() {
            cx.error_at(&path, "nothing is degraded")
                .help("give `rate`, `delay`, `loss`, `bit_error_rate` or `jitter`");
        }
        if degraded.jitter_distribution.is_some() && degraded.jitter == Span::ZERO {
            cx.error_at(
                &format!("{path}.jitter_distribution"),
                "a distribution without a delay",
            )
            .help("give its mean, as in jitter = \"50 us\"");
        }
        if degraded.reorder && degraded.jitter == Span::ZERO && degraded.delay.is_none() {
            cx.error_at(
                &format!("{path}.reorder"),
                "packets with equal delays never overtake each other",
            )
            .help("give `jitter`, the mean of a random delay");
        }
        if degraded.from >= end {
            let from = degraded.from;
            let message =
                format!("the run ends after {end}, before the links are degraded at {from}");
            cx.warn_at(&path, message);
        }
    }
}
