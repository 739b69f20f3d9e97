//! Keys of `[switch.pfc]` and of its buffer that have no effect, because others decide.
//!
//! A written default is no mistake: the scenario of a result has all of them. Leaves out: keys that a group of switches
//! inherits, which other switches may need.

use incastle_queueing::{Priority, SharedBufferConfig};

use crate::language::pfc::{ALPHA, Pfc, QUANTA, RESUME_OFFSET, priority_set};
use crate::language::switch::{Buffer, Switch};
use crate::text::context::Context;

pub(super) fn warn(path: &str, switch: &Switch, cx: &mut Context<'_>) {
    let Some(pfc) = &switch.pfc else {
        return;
    };
    warn_of_buffer(path, switch, pfc, cx);
    let is_static = pfc.xoff.is_some() && pfc.xon.is_some();
    for (key, is_default) in [
        ("alpha", pfc.alpha.total_cmp(&ALPHA).is_eq()),
        ("resume_offset", pfc.resume_offset == RESUME_OFFSET),
    ] {
        if is_static && !is_default {
            warn_of(
                &format!("{path}.pfc.{key}"),
                format!("{key} has no effect: xoff and xon are the thresholds"),
                "leave it out, or xoff and xon: then the threshold is alpha times the free memory",
                cx,
            );
        }
    }
    if !pfc.pause_frames && pfc.quanta != QUANTA {
        warn_of(
            &format!("{path}.pfc.quanta"),
            "quanta has no effect: the switch sends no pauses".to_owned(),
            "leave it out, or set pause_frames = true",
            cx,
        );
    }
}

/// The limit of lossy priorities where there are none (docs/models/pfc.md, admission).
fn warn_of_buffer(path: &str, switch: &Switch, pfc: &Pfc, cx: &mut Context<'_>) {
    let Buffer::Shared(shared) = switch.buffer else {
        return;
    };
    let is_default = shared.alpha.total_cmp(&SharedBufferConfig::DEFAULT_ALPHA);
    if priority_set(&pfc.priorities).count() < Priority::COUNT || is_default.is_eq() {
        return;
    }
    warn_of(
        &format!("{path}.buffer.alpha"),
        "alpha of the buffer has no effect: it limits lossy priorities, and PFC protects all eight"
            .to_owned(),
        "leave it out; the threshold of pauses is alpha of [switch.pfc]",
        cx,
    );
}

/// Warns of a key of this table, unless it is inherited.
fn warn_of(key: &str, message: String, help: &str, cx: &mut Context<'_>) {
    let is_inherited = key.starts_with("switches.") && {
        let below = key.splitn(3, '.').nth(2).unwrap_or_default();
        cx.place_of(&format!("switch.{below}")) == cx.place_of(key)
    };
    if !is_inherited {
        cx.warn_at(key, message).help(help);
    }
}
