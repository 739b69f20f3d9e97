//! Algorithms by their usual names that are no values of `congestion`: other transports, algorithms of
//! switches and NICs, and combinations of several keys. If `congestion` has such a name, the message names the
//! right keys. Their descriptions are those of the language (`manual::catalog`). A preset of another control is answered with
//! this control.

use crate::grammar::declare::Words as _;
use crate::preset::Preset;
use crate::rdma::{DcqcnPreset, HpccPreset, TimelyPreset};

/// An algorithm, and the keys that choose it.
pub(crate) struct Elsewhere {
    pub(crate) name: &'static str,
    pub(crate) keys: &'static str,
}

const fn set_by(name: &'static str, keys: &'static str) -> Elsewhere {
    Elsewhere { name, keys }
}

/// The revised DCUDP.
pub(crate) const REVISED: &str =
    "DCUDP, revised: each mark takes a little, and rates do not follow the round trips";

/// Combinations of several keys, with their descriptions.
pub(crate) const TOGETHER: [(Elsewhere, &str); 3] = [
    (
        set_by(
            "sack-ecn",
            "[transport] recovery = \"sack\", ecn = \"classic\"",
        ),
        "TCP with selective acknowledgements that takes marks for losses (RFC 2018, 6675, 3168)",
    ),
    (
        set_by(
            "dt-dctcp",
            "[transport] congestion = \"dctcp\" and [switch.queue] kind = \"double-threshold\", \
             readings = { thresholds = \"dt-dctcp\" }",
        ),
        "DCTCP over switches with two thresholds (Chen 2013)",
    ),
    (
        set_by(
            "dcudp-r",
            "[transport] kind = \"udt\", congestion = \"dcudp-r\"",
        ),
        REVISED,
    ),
];

/// The transports that are algorithms themselves, by their words.
pub(crate) const TRANSPORTS: [Elsewhere; 2] = [
    set_by("udt", "[transport] kind = \"udt\""),
    set_by("dcudp", "[transport] kind = \"dcudp\""),
];

/// The controls of queue pairs, by their words.
pub(crate) const RDMA: [Elsewhere; 4] = [
    set_by(
        "dcqcn",
        "[transport] kind = \"rdma\", congestion = \"dcqcn\"",
    ),
    set_by(
        "timely",
        "[transport] kind = \"rdma\", congestion = \"timely\"",
    ),
    set_by("hpcc", "[transport] kind = \"rdma\", congestion = \"hpcc\""),
    set_by(
        "rate-dctcp",
        "[transport] kind = \"rdma\", congestion = \"rate-dctcp\"",
    ),
];

/// QCN below any transport, by the order of its variants.
pub(crate) const VARIANTS: [Elsewhere; 6] = [
    set_by("qcn-I", "[switch.qcn] variant = \"I\""),
    set_by("qcn-II", "[switch.qcn] variant = \"II\""),
    set_by("qcn-III", "[switch.qcn] variant = \"III\""),
    set_by("qcn-IV", "[switch.qcn] variant = \"IV\""),
    set_by("qcn-V", "[switch.qcn] variant = \"V\""),
    set_by("qcn-VI", "[switch.qcn] variant = \"VI\""),
];

/// The remedy for a word that is no congestion control of TCP, if it is one of these.
pub(crate) fn instead(word: &str) -> Option<String> {
    // Without a number the standard's is meant.
    if word.eq_ignore_ascii_case("qcn") {
        return Some("[switch.qcn]".to_owned());
    }
    let together = TOGETHER.iter().map(|(one, _)| one);
    let mut all = together.chain(&TRANSPORTS).chain(&RDMA).chain(&VARIANTS);
    let named = all.find(|one| one.name.eq_ignore_ascii_case(word));
    named.map(|one| one.keys.to_owned())
}

/// The sets of defaults, each with the keys that choose its control: (name, meaning).
pub(crate) fn presets() -> [(&'static str, Vec<(&'static str, String)>); 4] {
    [
        ("kind = \"tcp\"", Preset::entries()),
        (
            "kind = \"rdma\", congestion = \"dcqcn\"",
            DcqcnPreset::entries(),
        ),
        (
            "kind = \"rdma\", congestion = \"timely\"",
            TimelyPreset::entries(),
        ),
        (
            "kind = \"rdma\", congestion = \"hpcc\"",
            HpccPreset::entries(),
        ),
    ]
}

/// The keys that choose the control of a preset.
pub(crate) fn choice_of_preset(word: &str) -> Option<&'static str> {
    let has = |names: &[(&str, String)]| names.iter().any(|(name, _)| *name == word);
    let found = presets().into_iter().find(|(_, names)| has(names));
    found.map(|(choice, _)| choice)
}
