//! The trajectories of the rate-based controllers over one bottleneck, as CSV: the snapshot of the tests,
//! and the data of a figure.

use std::fmt::Write;

use incastle_congestion::{
    Algorithm, Dcudp, DcudpConfig, DcudpFloor, DcudpGrowth, DcudpLaw, Udt, UdtConfig,
};
use incastle_units::{Bytes, Rate, Span, Time};

use crate::support::paced::{Link, PS, Paced, Row};

/// 1 Gbit/s, 100 us, marks above 15 packets, 4 MB; an interface that sends as fast as the application of
/// section V.A writes, 1.6 Gbit/s.
const MARKING: Link = Link {
    service: Span::from_us(12),
    rtt: Span::from_us(88),
    marking_threshold: 15,
    capacity: 2666,
    interface: Span::from_ns(7500),
    delayed_ack_count: None,
};

/// The wide-area path that UDT was made for: 1 Gbit/s, 100 ms, and a queue of as much.
const WIDE: Link = Link {
    service: Span::from_us(12),
    rtt: Span::from_ms(100),
    marking_threshold: u64::MAX,
    capacity: 8333,
    interface: Span::from_ns(1200),
    delayed_ack_count: Some(Span::from_ms(10)),
};

/// Every trajectory's rows: time, rate, window, queue.
pub(crate) fn csv() -> String {
    let mut text = String::from("reading,time_us,rate_mbit_per_s,cwnd_packets,queue_packets\n");
    let every = Span::from_ms(10);
    for (name, config) in readings() {
        let control = Algorithm::from(Dcudp::new(config));
        let rows = Paced::new(MARKING, control).run(Time::ZERO + every * 60, every);
        append(&mut text, name, &rows);
    }
    let udt = Algorithm::Udt(Udt::new(UdtConfig {
        packet: Bytes::new(PS),
    }));
    let every = Span::from_ms(250);
    let rows = Paced::new(WIDE, udt).run(Time::ZERO + every * 120, every);
    append(&mut text, "udt", &rows);
    text
}

/// The default, and each reading of the law that shows on a flow that sends all it may. The receiver
/// never ends congestion mode here.
fn readings() -> [(&'static str, DcudpConfig); 4] {
    let default = DcudpConfig::new(Bytes::new(PS), Rate::from_bits_per_second(1_600_000_000));
    [
        ("dcudp", default),
        (
            "dcudp-printed",
            DcudpConfig {
                law: DcudpLaw::Printed,
                ..default
            },
        ),
        (
            "dcudp-per-rtt",
            DcudpConfig {
                growth: DcudpGrowth::PerRtt,
                ..default
            },
        ),
        (
            "dcudp-idle",
            DcudpConfig {
                floor: DcudpFloor::Idle,
                ..default
            },
        ),
    ]
}

fn append(text: &mut String, name: &str, rows: &[Row]) {
    for row in rows {
        let rate = row.rate.map_or(String::new(), |rate| {
            format!("{:.6}", rate.bits_per_second() as f64 / 1e6)
        });
        let cwnd = row.cwnd.map_or(String::new(), |bytes| {
            format!("{:.3}", bytes.count() as f64 / PS as f64)
        });
        writeln!(
            text,
            "{name},{},{rate},{cwnd},{}",
            row.time.as_ps() / 1_000_000,
            row.queue
        )
        .expect("a string takes all text");
    }
}
