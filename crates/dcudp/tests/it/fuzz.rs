//! The fuzz target `dcudp_frames` without libFuzzer: the corpus is replayed, and inputs are generated.

use std::path::Path;

use incastle_cases::cases;
use proptest::collection::vec;
use proptest::prelude::*;

#[path = "../../../../fuzz/frames.rs"]
mod body;

#[test]
fn the_corpus() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/dcudp_frames");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a corpus") {
        body::frames(&std::fs::read(entry.expect("an entry").path()).expect("an input"));
        count += 1;
    }
    assert!(count >= 20, "a corpus worth the name");
}

/// A frame whose length is right: a known type or any, and any bytes or those of a name in it.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let kind = prop_oneof![1..=3_u8, 0x10..=0x17_u8, 0x20..=0x23_u8, any::<u8>()];
    let body = prop_oneof![
        vec(any::<u8>(), 0..64),
        "[a./\\\\ \u{e9}\u{0}\u{1b}-]{0,12}".prop_map(String::into_bytes),
        any::<[u8; 8]>().prop_map(|number| number.to_vec()),
        any::<[u8; 32]>().prop_map(|hash| hash.to_vec()),
        any::<u16>().prop_map(|version| [&b"dcudp-fp"[..], &version.to_be_bytes()].concat()),
    ];
    (kind, body).prop_map(|(kind, body)| {
        let length = u32::try_from(body.len()).expect("a short body");
        [&[kind][..], &length.to_be_bytes(), &body].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(3_000)))]

    #[test]
    fn streams_of_frames_and_of_anything(
        piece in any::<u8>(),
        frames in vec(frame(), 0..8),
        tail in vec(any::<u8>(), 0..40),
    ) {
        body::frames(&[&[piece][..], &frames.concat(), &tail].concat());
    }
}
