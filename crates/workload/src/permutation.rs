//! Random permutations of hosts without fixed points (derangements).

use incastle_scenario::topology::pairs::{GroupHosts, Pair};
use incastle_units::random;
use rand_core::Rng;

/// A random pairing of two sets of equal size, in which no host is paired with itself; each such
/// pairing is equally likely.
pub(crate) fn derangement(hosts: &GroupHosts, rng: &mut dyn Rng) -> Vec<Pair> {
    let GroupHosts { from, to } = hosts;
    assert_eq!(from.len(), to.len(), "a permutation has as many receivers");
    let mut to = to.clone();
    // About one shuffle in e has no fixed point, for any number of hosts.
    loop {
        for last in (1..to.len()).rev() {
            to.swap(last, random::below(rng, last as u64 + 1) as usize);
        }
        let pairs = from.iter().zip(&to);
        let pairs = pairs.map(|(&from, &to)| Pair { from, to });
        if pairs.clone().all(|pair| pair.from != pair.to) {
            return pairs.collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn derangements_are_drawn_evenly() {
        let hosts = |from: &[usize], to: &[usize]| GroupHosts {
            from: from.to_vec(),
            to: to.to_vec(),
        };
        let four = hosts(&[0, 1, 2, 3], &[0, 1, 2, 3]);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..9_000 {
            let pairs = derangement(&four, &mut rng);
            *counts.entry(pairs).or_insert(0_i32) += 1;
        }
        // Of 4 things there are 9; five standard deviations: 5 sqrt(9000 x 1/9 x 8/9) = 149.
        assert_eq!(counts.len(), 9);
        assert!(counts.values().all(|count| (count - 1_000).abs() < 149));
        let pairs = [(3, 5), (5, 3)].map(|(from, to)| Pair { from, to });
        assert_eq!(derangement(&hosts(&[3, 5], &[5, 3]), &mut rng), pairs);
    }
}
