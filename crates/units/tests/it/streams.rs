//! Digests and random substreams.

use incastle_units::Digest;
use incastle_units::random::{Purpose, Source, substream};
use rand_core::Rng;

#[test]
fn order_and_content_matter() {
    let hash = |words: &[(u64, u64)]| {
        let mut digest = Digest::default();
        for &(a, b) in words {
            digest.mix(a, b);
        }
        digest.value()
    };
    assert_ne!(hash(&[(1, 2), (3, 4)]), hash(&[(3, 4), (1, 2)]));
    assert_ne!(hash(&[(1, 2)]), hash(&[(2, 1)]));
    assert_ne!(hash(&[(0, 0)]), hash(&[(0, 0), (0, 0)]));
    assert_eq!(hash(&[(1, 2)]), hash(&[(1, 2)]));
}

#[test]
fn substreams_differ_in_each_coordinate() {
    let first = |seed, source, index, purpose| substream(seed, source, index, purpose).next_u64();
    let base = first(1, Source::Host, 0, Purpose::Jitter);
    assert_eq!(base, first(1, Source::Host, 0, Purpose::Jitter));
    assert_ne!(base, first(2, Source::Host, 0, Purpose::Jitter));
    assert_ne!(base, first(1, Source::Port, 0, Purpose::Jitter));
    assert_ne!(base, first(1, Source::Host, 1, Purpose::Jitter));
    assert_ne!(base, first(1, Source::Host, 0, Purpose::Starts));
}
