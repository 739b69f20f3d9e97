//! BBR over the wire: pacing from the first sample on, idleness, losses.

use incastle_congestion::{Algorithm, Bbr, BbrConfig};
use incastle_transport::tcp::{Config, Connection, Recovery, Role};
use incastle_units::{Bytes, Time};

use super::wire::{Fate, Packet, Wire, assert_trace, config, ms};

fn recent() -> Config {
    Config {
        recovery: Recovery::RackTlp,
        tail_loss_probe: true,
        dsack: true,
        f_rto: true,
        ..config()
    }
}

fn bbr(config: &Config) -> Algorithm {
    let least = BbrConfig::new(Bytes::new(u64::from(config.mss)));
    Algorithm::from(Bbr::new(BbrConfig {
        initial_window: config.initial_window,
        ..least
    }))
}

/// Two endpoints of one configuration under BBR.
fn symmetric(config: &Config, judge: impl FnMut(&Packet) -> Fate + 'static) -> Wire {
    let a = Connection::new(config, bbr(config), Role::Active);
    let b = Connection::new(config, bbr(config), Role::Passive);
    Wire::new([a, b], judge)
}

/// The round trip of the first ACK gives 2.77 x 4000 bytes in 20 ms: 1.805 ms a segment, until the window of eight
/// is full at 32.6 ms.
#[test]
fn the_first_round_trip_sets_the_rate() {
    let mut wire = symmetric(&recent(), |_| Fate::Pass);
    wire.endpoints[0].write(20_000);
    wire.run(ms(42));
    assert_trace(
        &wire.trace,
        "0 A 0..=3000+1000
         10 B ack 1000..=4000
         20 A 4000+1000
         21 A 5000+1000
         23 A 6000+1000
         25 A 7000+1000
         27 A 8000+1000
         29 A 9000+1000
         30 B ack 5000
         30 A 10000+1000
         31 B ack 6000
         32 A 11000+1000
         33 B ack 7000
         35 B ack 8000
         37 B ack 9000
         39 B ack 10000
         40 A 12000+1000
         40 B ack 11000
         41 A 13000+1000",
    );
}

#[test]
fn a_single_loss_anywhere_costs_no_timeout() {
    for (handshake, delayed_ack_count) in [(false, 1), (true, 1), (true, 2)] {
        for position in 0..100 {
            let config = Config {
                handshake,
                delayed_ack_count,
                ..recent()
            };
            let mut left = true;
            let mut wire = symmetric(&config, move |packet| {
                let data = packet.from == 0 && packet.sent.segment.payload > 0;
                if data && packet.seq() == position * 1000 && std::mem::take(&mut left) {
                    return Fate::Drop;
                }
                Fate::Pass
            });
            wire.endpoints[0].open(Time::ZERO);
            wire.endpoints[0].write(100_000);
            wire.run(ms(10_000));
            assert_eq!(wire.endpoints[1].delivered(), 100_000);
            let stats = wire.endpoints[0].stats();
            assert_eq!(
                (stats.timeouts, stats.retransmissions),
                (0, 1),
                "{position}: {config:?}"
            );
        }
    }
}

#[test]
#[should_panic(expected = "needs RACK-TLP")]
fn it_does_not_run_without_the_records_of_rack() {
    symmetric(&config(), |_| Fate::Pass);
}
