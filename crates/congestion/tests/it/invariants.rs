//! Any sequence of operations leaves every controller within its invariants.

use incastle_cases::cases;
use incastle_congestion::{
    AckSample, Algorithm, CongestionEvent, Controller, Cubic, CubicConfig, CwaExtremes,
    CwaReaction, D2tcp, D2tcpConfig, Dctcp, DctcpConfig, DtCwa, DtCwaConfig, Echo, LimitedBy,
    NewReno, NewRenoConfig, Phase, Prague, PragueConfig, Reaction, SlowStart,
};
use incastle_units::{Bytes, Span, Time};
use proptest::prelude::*;

use crate::support::{Sender, cwnd, ssthresh};

const MSS: u64 = 1460;

/// An operation on a connection, in the order of the wire or out of it.
#[derive(Debug, Clone)]
enum Operation {
    Send {
        segments: u64,
    },
    Ack {
        percent: u64,
        echo: bool,
        limited: bool,
        phase: u8,
    },
    Duplicate {
        echo: bool,
    },
    /// The round-trip time of the ACKs from now on, none at first.
    RoundTrip {
        us: u64,
    },
    Loss,
    Timeout {
        backoff: u32,
    },
    Idle,
    Over,
    Wait {
        us: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        6 => (1_u64..60).prop_map(|segments| Operation::Send { segments }),
        10 => (0_u64..=100, any::<bool>(), any::<bool>(), 0_u8..3).prop_map(
            |(percent, echo, limited, phase)| Operation::Ack { percent, echo, limited, phase }
        ),
        2 => any::<bool>().prop_map(|echo| Operation::Duplicate { echo }),
        2 => (0_u64..100_000).prop_map(|us| Operation::RoundTrip { us }),
        2 => Just(Operation::Loss),
        1 => (0_u32..8).prop_map(|backoff| Operation::Timeout { backoff }),
        1 => Just(Operation::Idle),
        1 => Just(Operation::Over),
        3 => (0_u64..5_000_000).prop_map(|us| Operation::Wait { us }),
    ]
}

/// The settings that the algorithms of one case share.
#[derive(Debug, Clone, Copy)]
struct Settings {
    window: NewRenoConfig,
    initial_alpha: f64,
    b: f64,
}

fn settings() -> impl Strategy<Value = Settings> {
    (1_u64..4, any::<bool>(), 0.0..=1.0, 0.0..=1.0, slow_starts()).prop_map(
        |(min_cwnd, grow_on_ece, initial_alpha, b, (slow_start, paced))| Settings {
            window: NewRenoConfig {
                min_cwnd: Bytes::new(min_cwnd * MSS),
                grow_on_ece,
                slow_start,
                paced,
                ..NewRenoConfig::new(Bytes::new(MSS))
            },
            initial_alpha,
            b,
        },
    )
}

fn slow_starts() -> impl Strategy<Value = (SlowStart, bool)> {
    let choices = [
        SlowStart::Standard,
        SlowStart::Hystart,
        SlowStart::HystartPlusPlus,
    ];
    (prop::sample::select(choices.to_vec()), any::<bool>())
}

impl Settings {
    /// The controllers that react to marks once per window of data.
    fn controllers(&self) -> [Algorithm; 5] {
        let (window, dctcp) = (self.window, self.dctcp());
        let mss = Bytes::new(MSS);
        let d2tcp = D2tcpConfig {
            dctcp,
            ..D2tcpConfig::new(mss)
        };
        let cubic = CubicConfig {
            window,
            ..CubicConfig::new(mss)
        };
        [
            Algorithm::NewReno(NewReno::new(window)),
            Algorithm::Dctcp(Dctcp::new(dctcp)),
            Algorithm::from(D2tcp::new(d2tcp)),
            Algorithm::from(Cubic::new(cubic)),
            Algorithm::from(Prague::new(PragueConfig {
                window,
                initial_alpha: self.initial_alpha,
                // Longer ones learn less often than once per window.
                rtt_target: Span::ZERO,
                ..PragueConfig::new(mss)
            })),
        ]
    }

    fn dctcp(&self) -> DctcpConfig {
        DctcpConfig {
            window: self.window,
            initial_alpha: self.initial_alpha,
            ..DctcpConfig::new(Bytes::new(MSS))
        }
    }

    fn dt_cwa(&self, reaction: CwaReaction, extremes: CwaExtremes) -> Algorithm {
        Algorithm::from(DtCwa::new(DtCwaConfig {
            dctcp: self.dctcp(),
            reaction,
            extremes,
            b: self.b,
        }))
    }
}

/// DT-CWA's episodes, followed from outside: it reacts to every echo, and gives back once.
#[derive(Debug)]
struct Episodes {
    reaction: CwaReaction,
    extremes: CwaExtremes,
    floor: u64,
    b: f64,
    /// Every window since the extremes are collected.
    windows: Vec<u64>,
    /// The end of the data of the episode, and CW_max - CW_min.
    open: Option<(u64, u64)>,
}

/// A window before and after an event.
#[derive(Debug, Clone, Copy)]
struct WindowStep {
    before: u64,
    after: u64,
}

impl Episodes {
    /// The window's increase at the end of an episode, if this SND.UNA ends it.
    fn end(&mut self, snd_una: u64, window: u64) -> u64 {
        let Some((_, spread)) = self.open.take_if(|(until, _)| snd_una >= *until) else {
            return 0;
        };
        let back = (self.b * spread as f64) as u64;
        if self.extremes == CwaExtremes::Episode {
            self.windows = vec![window + back];
        }
        back
    }

    /// The reaction to an ACK with ECE.
    fn check_mark(&mut self, sender: &Sender, step: WindowStep, reaction: Reaction) {
        let WindowStep { before, after } = step;
        if reaction == Reaction::Reduced {
            assert!(self.open.is_none(), "CWR once per episode");
            self.open = Some((sender.snd_nxt, self.spread()));
            if self.extremes == CwaExtremes::Notification {
                self.windows = vec![before];
            }
        }
        assert!(after >= before.min(self.floor), "never below the floor");
        if self.open.is_none() {
            assert_eq!(before, after, "marks count in an episode only");
            return;
        }
        let back = self.end(sender.snd_una, before);
        if self.reaction == CwaReaction::Subtract {
            assert!(after <= before + back);
        }
        if self.open.is_none() && self.extremes == CwaExtremes::Episode {
            self.windows.clear();
        } else {
            self.windows.push(after - back);
        }
        self.windows.push(after);
    }

    /// CW_max - CW_min.
    fn spread(&self) -> u64 {
        let extremes = (self.windows.iter().max(), self.windows.iter().min());
        let (Some(max), Some(min)) = extremes else {
            unreachable!("there is a window from the start")
        };
        max - min
    }
}

/// A connection under test, and what the test remembers of it.
struct Run {
    sender: Sender,
    control: Algorithm,
    rtt: Option<Span>,
    /// SND.NXT at the last reaction.
    reacted: Option<u64>,
    /// The end of DCTCP's observation window.
    window_end: u64,
    /// DT-CWA's.
    episodes: Option<Episodes>,
}

impl Run {
    fn new(control: Algorithm) -> Self {
        Self {
            sender: Sender {
                remaining: Some(Bytes::new(1 << 20)),
                deadline: Some(Time::ZERO + Span::from_secs(20)),
                ..Sender::default()
            },
            control,
            rtt: None,
            reacted: None,
            window_end: 0,
            episodes: None,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Send { segments } => self.sender.send(&mut self.control, segments * MSS),
            Operation::Wait { us } => self.sender.now += Span::from_us(us),
            Operation::Ack {
                percent,
                echo,
                limited,
                phase,
            } => {
                let outstanding = self.sender.snd_nxt - self.sender.snd_una;
                self.ack(outstanding * percent / 100, echo, limited, phase);
            }
            Operation::Duplicate { echo } => self.ack(0, echo, true, 0),
            Operation::RoundTrip { us } => self.rtt = Some(Span::from_us(us)),
            Operation::Loss => {
                let largest = self.sender.snd_una;
                self.congest(CongestionEvent::Loss { count: 1, largest });
            }
            Operation::Timeout { backoff } => self.congest(CongestionEvent::Timeout { backoff }),
            Operation::Idle => self.congest(CongestionEvent::IdleRestart),
            Operation::Over => self.congest(CongestionEvent::Over),
        }
        assert!(cwnd(&self.control) >= MSS, "the window holds a segment");
        assert!(ssthresh(&self.control).is_none_or(|bytes| bytes >= 2 * MSS));
        assert!(
            self.alpha()
                .is_none_or(|alpha| (0.0..=1.0).contains(&alpha))
        );
    }

    fn alpha(&self) -> Option<f64> {
        self.control.state().alpha
    }

    fn ack(&mut self, bytes: u64, echo: bool, limited: bool, phase: u8) {
        let ack = AckSample {
            acked: Bytes::new(bytes),
            segments: bytes.div_ceil(MSS).max(1) as u32,
            echo: if echo { Echo::Congestion } else { Echo::Clear },
            rtt: self.rtt.filter(|_| bytes > 0),
            limited_by: if limited {
                LimitedBy::Window
            } else {
                LimitedBy::Application
            },
            phase: [Phase::Open, Phase::Recovery, Phase::AfterTimeout][usize::from(phase)],
            hops: &[],
            hop_count: None,
            remote_delay: None,
        };
        self.sender.snd_una += bytes;
        self.sender.in_flight = Bytes::new(self.sender.snd_nxt - self.sender.snd_una);
        self.sender.smoothed_rtt = Some(Span::from_us(100));
        let (before, alpha) = (cwnd(&self.control), self.alpha());
        self.control.on_ack(&mut self.sender.cx(), &ack);
        let back = match &mut self.episodes {
            Some(episodes) if !echo => episodes.end(self.sender.snd_una, before),
            _ => 0,
        };
        self.check_growth(before + back, &ack);
        if let Some(episodes) = &mut self.episodes {
            episodes
                .windows
                .extend([before + back, cwnd(&self.control)]);
        }
        self.check_estimate(alpha);
        if echo {
            self.congest(CongestionEvent::Ecn);
        }
    }

    fn check_growth(&self, before: u64, ack: &AckSample<'_>) {
        let after = cwnd(&self.control);
        assert!(after >= before, "an ACK never shortens the window");
        if ack.phase == Phase::Recovery || ack.limited_by == LimitedBy::Application {
            assert_eq!(after, before, "no growth");
        }
        // Slow start adds at most two segments, Reno one, CUBIC half of the window per window. With
        // the fraction of a byte that it keeps the sum is below (before + 1) x 1.5.
        assert!(after - before <= (2 * MSS).max(before / 2 + 2));
    }

    /// DCTCP's estimate changes only by an ACK that passes the end of its window.
    fn check_estimate(&mut self, before: Option<f64>) {
        let passed = self.sender.snd_una > self.window_end;
        assert!(passed || self.alpha() == before, "alpha once per window");
        if passed {
            self.window_end = self.sender.snd_nxt;
        }
    }

    fn congest(&mut self, event: CongestionEvent) {
        let (before, alpha) = (cwnd(&self.control), self.alpha());
        let reaction = self.control.on_congestion(&mut self.sender.cx(), event);
        let after = cwnd(&self.control);
        assert_eq!(self.alpha(), alpha, "congestion leaves alpha alone");
        if event == CongestionEvent::Ecn && reaction == Reaction::Reduced {
            let window_is_over = self.reacted.is_none_or(|until| self.sender.snd_una > until);
            assert!(window_is_over, "marks count once per window");
        }
        if reaction == Reaction::Reduced {
            self.reacted = Some(self.sender.snd_nxt);
        }
        match (&mut self.episodes, event) {
            (Some(episodes), CongestionEvent::Ecn) => {
                let step = WindowStep { before, after };
                episodes.check_mark(&self.sender, step, reaction);
                return;
            }
            (Some(_), CongestionEvent::Over) | (None, _) => {}
            (Some(episodes), _) => {
                episodes.open = None;
                episodes.windows = vec![after];
            }
        }
        assert!(after <= before, "congestion never widens the window");
        let idle = matches!(event, CongestionEvent::IdleRestart | CongestionEvent::Over);
        if reaction == Reaction::Ignored && !idle {
            assert_eq!(after, before, "what is ignored changes nothing");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(2048)))]

    #[test]
    fn any_sequence_of_operations_keeps_the_invariants(
        operations in prop::collection::vec(operation(), 1..200),
        settings in settings(),
    ) {
        for control in settings.controllers() {
            let mut run = Run::new(control);
            for operation in &operations {
                run.apply(operation);
            }
        }
    }

    #[test]
    fn any_sequence_of_operations_keeps_the_episodes_of_dt_cwa(
        operations in prop::collection::vec(operation(), 1..200),
        settings in settings(),
    ) {
        let reactions = [CwaReaction::Subtract, CwaReaction::Absolute, CwaReaction::Printed];
        let extremes = [CwaExtremes::Episode, CwaExtremes::Notification, CwaExtremes::Loss];
        for (reaction, extremes) in reactions
            .into_iter()
            .flat_map(|reaction| extremes.map(|extremes| (reaction, extremes)))
        {
            let mut run = Run::new(settings.dt_cwa(reaction, extremes));
            run.episodes = Some(Episodes {
                reaction,
                extremes,
                floor: settings.window.min_cwnd.count(),
                b: settings.b,
                windows: vec![settings.window.initial_window.count()],
                open: None,
            });
            for operation in &operations {
                run.apply(operation);
            }
        }
    }
}
