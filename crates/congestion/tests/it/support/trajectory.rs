//! The trajectory of each algorithm over one bottleneck, as CSV: the snapshot of the tests, and
//! the data of a figure.

use std::fmt::Write;

use incastle_congestion::{
    Algorithm, Bbr, BbrConfig, Cubic, CubicConfig, D2tcp, D2tcpConfig, Dctcp, DctcpConfig, DtCwa,
    DtCwaConfig, NewReno, NewRenoConfig, Prague, PragueConfig, SlowStart, Swift, SwiftConfig,
};
use incastle_units::{Bytes, Span, Time};

use crate::support::pipe::{Link, MSS, Pipe, Row};

/// 1 Gbit/s, 1500 B packets: 12 us each; 88 us of delay, so that 100 us hold 8.3 packets.
const LINK: Link = Link {
    service: Span::from_us(12),
    rtt: Span::from_us(88),
    marking_threshold: 20,
    capacity: 50,
};

/// The wide-area link on which CUBIC shows its curve: 12 Mbit/s, 100 ms, 1 ms a packet.
const WIDE: Link = Link {
    service: Span::from_ms(1),
    rtt: Span::from_ms(99),
    marking_threshold: u64::MAX,
    capacity: 50,
};

/// Every algorithm's rows: time, window, threshold, estimate, queue.
pub(crate) fn csv() -> String {
    let mss = Bytes::new(MSS);
    let unmarked = Link {
        marking_threshold: u64::MAX,
        ..LINK
    };
    let dctcp = Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(mss)));
    let reno = |link| {
        (
            link,
            Algorithm::NewReno(NewReno::new(NewRenoConfig::new(mss))),
        )
    };
    let cubic = Algorithm::from(Cubic::new(CubicConfig::new(mss)));
    let [hystart, plus_plus] = [SlowStart::Hystart, SlowStart::HystartPlusPlus].map(|choice| {
        let mut config = CubicConfig::new(mss);
        config.window.slow_start = choice;
        Algorithm::from(Cubic::new(config))
    });
    let mut text =
        String::from("algorithm,time_us,cwnd_bytes,ssthresh_bytes,alpha,queue_packets\n");
    for (name, (link, algorithm), every, rows) in [
        ("dctcp", (LINK, dctcp), Span::from_us(100), 120),
        ("new-reno", reno(unmarked), Span::from_us(500), 120),
        ("new-reno-ecn", reno(LINK), Span::from_us(200), 120),
        ("cubic", (WIDE, cubic), Span::from_ms(200), 120),
        ("cubic-hystart", (WIDE, hystart), Span::from_ms(50), 60),
        ("cubic-hystart++", (WIDE, plus_plus), Span::from_ms(50), 60),
    ] {
        let end = Time::ZERO + every * rows;
        append(&mut text, name, &Pipe::new(link, algorithm).run(end), every);
    }
    let every = Span::from_us(100);
    let end = Time::ZERO + every * 120;
    for (name, pipe) in with_deadlines(mss) {
        append(&mut text, name, &pipe.run(end), every);
    }
    let prague = Algorithm::from(Prague::new(PragueConfig::new(mss)));
    append(
        &mut text,
        "prague",
        &Pipe::new(LINK, prague).run(end),
        every,
    );
    // 100 us of the empty link, and ten packets that may wait.
    let swift = Algorithm::from(Swift::new(SwiftConfig {
        base_target: Span::from_us(220),
        fs_range: Span::ZERO,
        ..SwiftConfig::new(mss)
    }));
    append(
        &mut text,
        "swift",
        &Pipe::new(unmarked, swift).run(end),
        every,
    );
    // A buffer of five bandwidth-delay products, and one of a tenth, which every probe overflows.
    for (name, capacity) in [("bbr", 500), ("bbr-losses", 10)] {
        let bbr = Algorithm::from(Bbr::new(BbrConfig::new(mss)));
        let link = Link { capacity, ..WIDE };
        let every = Span::from_ms(100);
        let rows = Pipe::new(link, bbr).run(Time::ZERO + every * 120);
        append(&mut text, name, &rows, every);
    }
    let dt_cwa = Algorithm::from(DtCwa::new(DtCwaConfig::new(mss)));
    append(
        &mut text,
        "dt-cwa",
        &Pipe::new(LINK, dt_cwa).run(end),
        every,
    );
    text
}

/// D2TCP with 3 MB to send, which take 25 ms: before a deadline that is too near, and one far off.
fn with_deadlines(mss: Bytes) -> [(&'static str, Pipe); 2] {
    let pipe = |deadline| {
        let d2tcp = Algorithm::from(D2tcp::new(D2tcpConfig::new(mss)));
        Pipe::new(LINK, d2tcp).with_deadline(3_000_000, Time::ZERO + deadline)
    };
    [
        ("d2tcp-near", pipe(Span::from_ms(15))),
        ("d2tcp-far", pipe(Span::from_ms(120))),
    ]
}

/// The first row of every interval.
fn append(text: &mut String, name: &str, rows: &[Row], every: Span) {
    let mut next = Time::ZERO;
    for row in rows {
        if row.time < next {
            continue;
        }
        next = row.time + every;
        let ssthresh = row
            .ssthresh
            .map_or(String::new(), |bytes| bytes.to_string());
        let alpha = row
            .alpha
            .map_or(String::new(), |alpha| format!("{alpha:.9}"));
        writeln!(
            text,
            "{name},{:.3},{},{ssthresh},{alpha},{}",
            row.time.as_secs_lossy() * 1e6,
            row.cwnd,
            row.queue
        )
        .expect("a string takes all text");
    }
}
