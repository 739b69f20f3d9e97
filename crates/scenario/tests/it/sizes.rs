//! The distributions of flow sizes that come with Incastle.

use incastle_scenario::Sizes;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

const NAMED: [(&str, &str); 3] = [
    (
        "websearch",
        include_str!("../../../language/data/websearch.cdf"),
    ),
    (
        "datamining",
        include_str!("../../../language/data/datamining.cdf"),
    ),
    ("hadoop", include_str!("../../../language/data/hadoop.cdf")),
];

#[test]
fn the_mean_of_web_search_is_that_of_its_header() {
    // 15 % x 5 kB + 5 % x 15 kB + 10 % x 25 kB + 10 % x 40 kB + 13 % x 65 kB + 7 % x 140 kB
    // + 10 % x 600 kB + 10 % x 1.5 MB + 10 % x 3.5 MB + 7 % x 7.5 MB + 3 % x 20 MB
    assert!((Sizes::Named("websearch").mean() - 1_711_250.0).abs() < 1.0);
}

/// The points of a file: bytes and cumulative percentages.
fn points(text: &str) -> Vec<(u64, f64)> {
    let lines = text
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let lines = lines.map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (size, share) = line.split_once(char::is_whitespace).expect("two numbers");
            (
                size.parse().expect("bytes"),
                share.trim().parse().expect("per cent"),
            )
        })
        .collect()
}

/// The fraction of flows of at most `size` bytes: draws are whole bytes, rounded down.
fn share(points: &[(u64, f64)], size: u64) -> f64 {
    let pair = points.windows(2).find(|pair| pair[1].0 > size);
    let Some(&[(low, low_share), (high, high_share)]) = pair else {
        return 1.0;
    };
    let part = (size + 1 - low) as f64 / (high - low) as f64;
    (low_share + part * (high_share - low_share)) / 100.0
}

/// The test of Kolmogorov and Smirnov: the greatest distance between the distribution of the draws
/// and that of the file is above 1.63 / sqrt(n) in one of a hundred samples.
#[test]
fn draws_follow_the_file() {
    const DRAWS: usize = 100_000;
    for (name, text) in NAMED {
        let points = points(text);
        let sizes = Sizes::Named(name).expanded();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut draws: Vec<u64> = (0..DRAWS).map(|_| sizes.draw(&mut rng).count()).collect();
        draws.sort_unstable();
        let distance = (1..DRAWS)
            .filter(|&rank| draws[rank - 1] < draws[rank])
            .map(|rank| (share(&points, draws[rank - 1]) - rank as f64 / DRAWS as f64).abs())
            .fold(0.0, f64::max);
        assert!(
            distance < 1.63 / (DRAWS as f64).sqrt(),
            "{name}: {distance}"
        );
        let mean = draws.iter().sum::<u64>() as f64 / DRAWS as f64;
        assert!((mean / sizes.mean() - 1.0).abs() < 0.05, "{name}: {mean}");
    }
}
