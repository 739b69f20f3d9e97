//! Fuzz targets without libFuzzer, for the ordinary tests: the corpus is replayed, and inputs are generated
//! from it, each from a number.

use std::path::Path;

use incastle_cases::cases;
use incastle_units::random;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Generated inputs of each target, where all are requested.
const INPUTS: u32 = 3_000;
/// Maximum length of generated inputs.
const MAX_BYTES: usize = 4_000;

/// Runs a target's corpus through `body`, and then generated inputs.
pub(crate) fn run(target: &str, body: fn(&[u8])) {
    let corpus = corpus(target);
    assert!(corpus.len() >= 20, "a corpus of at least 20 inputs");
    for input in &corpus {
        body(input);
    }
    for number in 0..cases(INPUTS).into() {
        let input = generated(&corpus, number);
        let outcome = std::panic::catch_unwind(|| body(&input));
        assert!(outcome.is_ok(), "{target}: input {number}: {input:?}");
    }
}

/// The inputs of a target's corpus, by name.
#[expect(clippy::disallowed_methods, reason = "the corpus is a folder of files")]
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus");
    let folder = Path::new(folder).join(target);
    let entries = std::fs::read_dir(&folder).expect("a corpus");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let read = |path| std::fs::read(path).expect("an input");
    paths.into_iter().map(read).collect()
}

/// Input `number`: one of the corpus with some bytes changed, cut, repeated, or joined to another.
fn generated(corpus: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(number);
    let pick = |rng: &mut Xoshiro256PlusPlus| {
        let index = random::below(rng, corpus.len() as u64) as usize;
        corpus[index].clone()
    };
    let mut input = pick(&mut rng);
    for _ in 0..=random::below(&mut rng, 6) {
        let at = random::below(&mut rng, input.len() as u64 + 1) as usize;
        match random::below(&mut rng, 6) {
            0 if at < input.len() => input[at] ^= 1 << random::below(&mut rng, 8),
            1 if at < input.len() => input[at] = rng.next_u64() as u8,
            2 => input.truncate(at),
            3 => input.insert(at, rng.next_u64() as u8),
            4 => {
                let tail = input[at..].to_vec();
                input.extend(tail);
                input.truncate(MAX_BYTES);
            }
            _ => {
                let other = pick(&mut rng);
                input.truncate(at);
                let from = random::below(&mut rng, other.len() as u64 + 1) as usize;
                input.extend(&other[from..]);
            }
        }
    }
    input
}
