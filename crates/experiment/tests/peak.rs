//! The memory of a run grows with hosts and events, not with simulated time. A counting allocator checks this for
//! random scenarios with long silences. Alone in its program, because the count is that of a whole process.

#[path = "it/common.rs"]
mod common;

use common::{run, scenario};
use incastle_experiment::expected;
use peak_alloc::PeakAlloc;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

/// The maximum memory of a run: `A` bytes, `B` for each host and `C` for each event.
///
/// `A`: lists that have their full size in the smallest network. The histograms of queues share half a megabyte before
/// each port has its minimum.
///
/// `B`: a host of a star is a link with two ports: histograms, names, routes, a series, rows in `links` and `queues`.
/// They take some 3.2 KB as measured, and a quarter more for lists that double.
///
/// `C`: a flow lasts some twenty events. It has two endpoints with counters (1 KB), a note, and rows in `flows` and
/// `transfers`. A delivered packet has a bin of 24 bytes and a row of 40. Together this is some 100 bytes per event as
/// measured, and four times as much for flows of few events.
const A: usize = 512 << 10;
const B: usize = 4 << 10;
const C: usize = 512;

#[derive(Debug, Clone)]
struct Transfer {
    /// Its start, as a share of the run.
    at: f64,
    sender: usize,
    bytes: u32,
}

#[derive(Debug, Clone)]
struct Case {
    senders: usize,
    duration_s: u64,
    transfers: Vec<Transfer>,
    /// A closed loop of requests with this pause, as a share of the run.
    think: Option<f64>,
    goodput: bool,
    /// Intervals of `throughput` in the run.
    intervals: Option<u64>,
}

/// Transfers from `senders` senders, in order of time.
fn transfers(senders: usize) -> impl Strategy<Value = Vec<Transfer>> {
    let transfer = (0.0..1.0_f64, 0..senders, 1..20_000_u32);
    let transfer = transfer.prop_map(|(at, sender, bytes)| Transfer { at, sender, bytes });
    prop::collection::vec(transfer, 1..60).prop_map(|mut transfers| {
        transfers.sort_by(|a, b| a.at.total_cmp(&b.at));
        transfers
    })
}

prop_compose! {
    fn cases()(
        senders in prop_oneof![1..4_usize, 100..400_usize],
    )(
        senders in Just(senders),
        duration_s in prop_oneof![1..10_u64, 1_000..1_000_000_u64],
        transfers in transfers(senders),
        think in prop::option::of(0.05..0.9_f64),
        goodput in any::<bool>(),
        intervals in prop::option::of(10..1_000_000_u64),
    ) -> Case {
        Case { senders, duration_s, transfers, think, goodput, intervals }
    }
}

impl Case {
    fn text(&self) -> String {
        let Self {
            senders,
            duration_s,
            goodput,
            ..
        } = *self;
        let transfer = |transfer: &Transfer| {
            let Transfer { at, sender, bytes } = transfer;
            let at = at * duration_s as f64;
            format!("[\"{at:.6} s\", \"sender:{sender}\", \"receiver\", {bytes}]")
        };
        let transfers: Vec<String> = self.transfers.iter().map(transfer).collect();
        let closed_loop = self.think.map(|share| {
            let think = share * duration_s as f64;
            format!(
                "[flows.loop]\nworkload = \"barrier-incast\"\nfrom = \"senders\"\nto = \"receiver\"\ncount = 1\n\
                 sru = \"2 KB\"\nthink_time = \"{think:.3} s\"\n"
            )
        });
        let throughput = self.intervals.map(|intervals| {
            let every = duration_s * 1_000_000_000 / intervals;
            format!("throughput = {{ every = \"{every} ns\", flows = \"list\" }}\n")
        });
        format!(
            "[run]\nduration = \"{duration_s} s\"\n\
             [network]\ntopology = \"star\"\nsenders = {senders}\nrate = \"1 Gbit/s\"\ndelay = \"25 us\"\n\
             [flows.list]\nworkload = \"flow-list\"\nfrom = \"senders\"\nto = \"receiver\"\n\
             transfers = {{ list = [{}] }}\n{}[measure]\ngoodput = {goodput}\n{}",
            transfers.join(", "),
            closed_loop.unwrap_or_default(),
            throughput.unwrap_or_default(),
        )
    }
}

/// The peak memory of a run in bytes, and its events.
fn peak(text: &str) -> (usize, usize) {
    let scenario = scenario(text, &[]);
    let before = COUNTED.current_usage();
    COUNTED.reset_peak_usage();
    let output = run(&scenario).expect("a run");
    let peak = COUNTED.peak_usage().saturating_sub(before);
    (peak, output.totals.events as usize)
}

#[test]
fn memory_grows_with_hosts_and_events_and_not_with_time() {
    let mut runner = TestRunner::new(Config {
        cases: incastle_cases::cases(60),
        failure_persistence: None,
        ..Config::default()
    });
    let held = runner.run(&cases(), |case| {
        let (peak, events) = peak(&case.text());
        let hosts = case.senders + 1;
        let bound = A + B * hosts + C * events;
        prop_assert!(
            peak <= bound,
            "{peak} bytes with {hosts} hosts and {events} events, not {bound}"
        );
        Ok(())
    });
    held.expect("memory within its bound");
    ten_thousand_times_as_long_takes_no_more();
    what_is_expected_is_of_the_size_of_what_is_taken();
}

/// The same events, in a run of a hundred seconds and in one of eleven days.
fn ten_thousand_times_as_long_takes_no_more() {
    let transfer = |at, sender, bytes| Transfer { at, sender, bytes };
    let case = |duration_s| Case {
        senders: 20,
        duration_s,
        transfers: vec![
            transfer(0.0, 0, 1_000),
            transfer(0.5, 7, 10_000),
            transfer(0.999, 19, 1_000),
        ],
        think: None,
        goodput: true,
        intervals: Some(1_000),
    };
    let (short, long) = (peak(&case(100).text()), peak(&case(1_000_000).text()));
    assert!(
        short.1.abs_diff(long.1) < 10,
        "nearly the same events: {short:?}, {long:?}"
    );
    assert!(
        long.0 <= short.0 + short.0 / 100,
        "{long:?} after {short:?}"
    );
}

/// The estimate before a run includes Python's frames. The engine's memory is 0.25 to 1.2 times the estimate.
fn what_is_expected_is_of_the_size_of_what_is_taken() {
    let text = "[run]\nduration = \"20 ms\"\n\
        [network]\ntopology = \"star\"\nsenders = 4\nrate = \"10 Gbit/s\"\ndelay = \"25 us\"\n\
        [flows.drawn]\nworkload = \"poisson\"\nfrom = \"senders\"\nto = \"receiver\"\nsizes = \"1 KB\"\nload = 0.5\n\
        [measure]\nqueue = { every = \"100 ns\" }\n";
    let wanted = expected(&scenario(text, &[])).bytes() as f64;
    let (peak, _) = peak(text);
    let share = peak as f64 / wanted;
    assert!(
        (0.25..=1.2).contains(&share),
        "{peak} bytes are {share:.2} of {wanted}"
    );
}
