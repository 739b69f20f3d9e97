//! The fuzz target `secure` without libFuzzer: the corpus is replayed, and inputs are generated.

use std::path::Path;

use incastle_cases::cases;
use incastle_secure::{Opened, Sessions};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::net::{KEY, at, joined, path};

#[path = "../../../../fuzz/secure.rs"]
pub(crate) mod bodies;

#[test]
#[expect(clippy::disallowed_methods, reason = "the corpus is a folder of files")]
fn the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/secure");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a corpus") {
        bodies::secure(&std::fs::read(entry.expect("an entry").path()).expect("an input"));
        count += 1;
    }
    assert!(count >= 10, "a corpus worth the name");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(300)))]

    #[test]
    fn two_endpoints_live_through_anything(input in vec(any::<u8>(), 0..600)) {
        bodies::secure(&input);
    }

    /// Any bytes, also behind a right header, are no plaintext, have no response, and change
    /// nothing.
    #[test]
    fn any_bytes_are_ignored(
        kind in prop_oneof![Just(0xD1_u8), Just(0xD2), Just(0xD3), any::<u8>()],
        rest in vec(any::<u8>(), 0..200),
        pads in any::<bool>(),
    ) {
        let (mut left, mut right) = joined();
        let mut bytes = [&[kind, 1, 0, 0][..], &rest].concat();
        if pads {
            bytes.resize(56, 0);
        }
        let opened = right.sessions.open(at(1), path(left.address), &mut bytes, &mut right.rng);
        prop_assert!(matches!(opened, Opened::Ignored(_)));
        prop_assert!(right.leaving().is_empty());
        crate::net::passes(at(2), &mut left, &mut right, b"still");
        crate::net::passes(at(2), &mut right, &mut left, b"still");
        let mut none = Sessions::new(&incastle_secure::Key::new([KEY; 32]), 10);
        let opened = none.open(at(1), path(left.address), &mut bytes, &mut right.rng);
        prop_assert!(matches!(opened, Opened::Ignored(_)));
        prop_assert!(none.poll_transmit().is_none());
    }
}
