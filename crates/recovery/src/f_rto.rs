//! F-RTO: spurious retransmission timeouts, found by the acknowledgements after them (RFC 5682, section
//! 3.1, with SACK). The first segment is sent again, then new data in place of further repetitions: an
//! acknowledgement of data sent once, before the timeout, shows that nothing was lost.
//!
//! Leaves out: the variant without SACK (section 2), and the reset of the SACK scoreboard in step 1: what
//! was reported stays reported. Step 3a bounds the window by three segments; slow start from one segment
//! has not gone beyond.

/// An acknowledgement, as F-RTO reads it.
#[derive(Debug, Clone, Copy)]
pub struct Signs {
    /// SND.UNA moved.
    pub advanced: bool,
    /// It acknowledges or reports something below RecoveryPoint that was sent once.
    pub original: bool,
    /// It acknowledges or reports something above RecoveryPoint.
    pub beyond: bool,
    /// It acknowledges everything below RecoveryPoint.
    pub covered: bool,
    /// New data may be sent.
    pub unsent: bool,
}

/// The steps of RFC 5682, section 3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FRto {
    /// No timeout is in question.
    #[default]
    Off,
    /// Step 2: the first segment was sent again.
    Repeated,
    /// Step 3: new segments may leave, this many more.
    Probing {
        /// What is left of them.
        segments: u8,
    },
}

impl FRto {
    /// Whether retransmissions wait for the next acknowledgement.
    pub fn is_probing(self) -> bool {
        matches!(self, Self::Probing { .. })
    }

    /// Takes the permission to send a new segment in step 3, for any window.
    pub fn take_segment(&mut self) -> bool {
        match self {
            Self::Probing { segments } if *segments > 0 => {
                *segments -= 1;
                true
            }
            _ => false,
        }
    }

    /// An acknowledgement arrived; gives whether it shows that the timeout was spurious.
    pub fn on_ack(&mut self, signs: Signs) -> bool {
        match self {
            Self::Off => {}
            Self::Repeated if !signs.advanced => {}
            // Steps 2a and 2b.
            Self::Repeated if signs.covered || !signs.unsent => *self = Self::Off,
            Self::Repeated => *self = Self::Probing { segments: 2 },
            Self::Probing { .. } => {
                *self = Self::Off;
                // Steps 3a and 3b.
                return signs.original && !signs.beyond;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVANCED: Signs = Signs {
        advanced: true,
        original: false,
        beyond: false,
        covered: false,
        unsent: true,
    };

    /// F-RTO after the acknowledgement of the first repetition.
    fn probing() -> FRto {
        let mut f_rto = FRto::Repeated;
        assert!(!f_rto.on_ack(ADVANCED));
        assert_eq!(f_rto, FRto::Probing { segments: 2 });
        f_rto
    }

    #[test]
    fn step_two() {
        let mut f_rto = FRto::Repeated;
        f_rto.on_ack(Signs {
            advanced: false,
            ..ADVANCED
        });
        assert_eq!(f_rto, FRto::Repeated);
        for end in [
            Signs {
                covered: true,
                ..ADVANCED
            },
            Signs {
                unsent: false,
                ..ADVANCED
            },
        ] {
            let mut f_rto = FRto::Repeated;
            assert!(!f_rto.on_ack(end));
            assert_eq!(f_rto, FRto::Off);
        }
    }

    #[test]
    fn step_three() {
        let original = Signs {
            original: true,
            ..ADVANCED
        };
        assert!(probing().on_ack(original));
        let beyond = Signs {
            beyond: true,
            ..original
        };
        assert!(!probing().on_ack(beyond));
        assert!(!probing().on_ack(ADVANCED));
    }

    #[test]
    fn two_new_segments_leave() {
        let mut f_rto = probing();
        let taken: Vec<bool> = (0..3).map(|_| f_rto.take_segment()).collect();
        assert_eq!(taken, [true, true, false]);
    }
}
