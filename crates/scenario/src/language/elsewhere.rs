//! Algorithms by their usual names that no word of `congestion` stands for: transports of their own,
//! what works in switches and adapters, what several keys make together. `incastle list` has them, and
//! whoever writes one as `congestion` is told where it is set.

use crate::grammar::declare::{Table, Words};
use crate::grammar::describe::Member;
use crate::language::qcn::Variant;
use crate::language::transport::Kind;
use crate::text::node::quoted;

/// An algorithm, and the keys that choose it.
pub(crate) struct Elsewhere {
    pub(crate) name: &'static str,
    pub(crate) about: String,
    pub(crate) keys: String,
}

/// What several keys make together.
const TOGETHER: [[&str; 3]; 2] = [
    [
        "sack-ecn",
        "TCP with selective acknowledgements that takes marks for losses (RFC 2018, 6675, 3168)",
        "[transport] recovery = \"sack\", ecn = \"classic\"",
    ],
    [
        "dt-dctcp",
        "DCTCP over switches with two thresholds (Chen 2013)",
        "[transport] congestion = \"dctcp\" and [switch.queue] kind = \"double-threshold\", \
         readings = { thresholds = \"dt-dctcp\" }",
    ],
];

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = Elsewhere> {
    let together = TOGETHER.into_iter().map(|[name, about, keys]| Elsewhere {
        name,
        about: about.to_owned(),
        keys: keys.to_owned(),
    });
    together.chain(transports()).chain(variants())
}

/// What to write instead of a word that is no congestion control of TCP, if it is one of these.
pub(crate) fn instead(word: &str) -> Option<String> {
    let named = all().find(|one| one.name.eq_ignore_ascii_case(word));
    let keys = named.map(|one| one.keys);
    // Without a number the standard's is meant.
    keys.or_else(|| {
        let qcn = word.eq_ignore_ascii_case("qcn");
        qcn.then(|| "[switch.qcn]".to_owned())
    })
}

/// The transports that are algorithms themselves.
fn transports() -> impl Iterator<Item = Elsewhere> {
    let members = Kind::description().members.into_iter();
    let choices = members.filter_map(|member| match member {
        Member::Choice(choice) => Some(choice.alternatives),
        _ => None,
    });
    let own = choices
        .flatten()
        .filter(|kind| ["udt", "dcudp"].contains(&kind.word));
    own.map(|kind| Elsewhere {
        name: kind.word,
        about: kind.about,
        keys: format!("[transport] kind = {}", quoted(kind.word)),
    })
}

/// QCN below any transport, by its variants.
fn variants() -> impl Iterator<Item = Elsewhere> {
    let names = ["qcn-I", "qcn-II", "qcn-III", "qcn-IV", "qcn-V", "qcn-VI"];
    let variants = Variant::entries();
    assert_eq!(names.len(), variants.len(), "each variant has its name");
    let entries = names.into_iter().zip(variants);
    entries.map(|(name, (word, about))| Elsewhere {
        name,
        about,
        keys: format!("[switch.qcn] variant = {}", quoted(word)),
    })
}
