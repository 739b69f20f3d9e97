//! DT-CWA's sender (Sreekumari 2018), in the reading "subtract": every ACK with ECE takes
//! (CW_max - CW_min) / a per segment; the end of an episode gives b (CW_max - CW_min) back.

use incastle_congestion::{
    AckSample, CongestionEvent, Context, ControlState, Controller, Echo, Reaction, Window,
};
use incastle_units::Bytes;

use crate::support::{Sender, cwnd, sample};

const MSS: f64 = 1000.0;
const B: f64 = 0.2;

struct Episode {
    /// SND.NXT at the first notification: the data outstanding then ends here.
    until: u64,
    /// Packets outstanding at the first notification.
    outstanding: f64,
    /// CW_max - CW_min before it, in segments.
    spread: f64,
}

struct DtCwa {
    /// Segments.
    cwnd: f64,
    max: f64,
    min: f64,
    /// Segments of the ACK at hand.
    segments: f64,
    episode: Option<Episode>,
}

impl DtCwa {
    fn new(initial: f64) -> Self {
        Self {
            cwnd: initial,
            max: initial,
            min: initial,
            segments: 0.0,
            episode: None,
        }
    }
}

impl Controller for DtCwa {
    fn on_ack(&mut self, cx: &mut Context<'_>, ack: &AckSample) {
        self.segments = f64::from(ack.segments);
        if let Some(episode) = self.episode.take_if(|e| cx.snd_una >= e.until) {
            self.cwnd += B * episode.spread;
            (self.max, self.min) = (self.cwnd, self.cwnd);
        }
        if ack.echo == Echo::Clear && self.episode.is_none() {
            // Slow start stands for NewReno's growth here.
            self.cwnd += ack.acked.count() as f64 / MSS;
            self.max = self.max.max(self.cwnd);
        }
    }

    fn on_congestion(&mut self, cx: &mut Context<'_>, event: CongestionEvent) -> Reaction {
        if event != CongestionEvent::Ecn {
            return Reaction::Ignored;
        }
        let first = self.episode.is_none();
        let episode = self.episode.get_or_insert(Episode {
            until: cx.snd_nxt,
            outstanding: cx.in_flight.count() as f64 / MSS,
            spread: self.max - self.min,
        });
        let cut = self.segments * episode.spread / episode.outstanding;
        self.cwnd = (self.cwnd - cut).max(2.0);
        if first {
            Reaction::Reduced
        } else {
            Reaction::Ignored
        }
    }

    fn window(&self) -> Window {
        Window::Limited(Bytes::new((self.cwnd * MSS).round() as u64))
    }

    fn state(&self) -> ControlState {
        ControlState::default()
    }
}

#[test]
fn every_echo_counts_and_an_episode_ends_with_its_data() {
    let (mut sender, mut control) = (Sender::default(), DtCwa::new(2.0));
    // Nine ACKs without a mark: 2 -> 11 segments; CW_max = 11, CW_min = 2.
    sender.send(&mut control, 20_000);
    for _ in 0..9 {
        sender.ack(&mut control, 1000, Echo::Clear);
    }
    assert_eq!(cwnd(&control), 11_000);

    // First notification: 20 sent, 10 acknowledged, a = 10 outstanding, spread 9:
    // 11 - 9/10 = 10.1 segments. CWR is asked for once.
    assert_eq!(
        sender.ack(&mut control, 1000, Echo::Congestion),
        Reaction::Reduced
    );
    assert_eq!(cwnd(&control), 10_100);
    // An ACK that covers two segments: 10.1 - 2 x 0.9 = 8.3.
    let two = AckSample {
        segments: 2,
        ..sample(2000, Echo::Congestion)
    };
    assert_eq!(sender.ack_with(&mut control, two), Reaction::Ignored);
    assert_eq!(cwnd(&control), 8_300);

    // The data of the episode ends with the 20th segment: + 0.2 x 9, and the ACK itself, without a
    // mark, grows by its eight: 8.3 + 1.8 + 8 = 18.1.
    sender.ack(&mut control, 8000, Echo::Clear);
    assert_eq!(cwnd(&control), 18_100);
}
