//! The controllers that a program selects by name, with their defaults: those that need a window's feedback and
//! nothing that one network alone has.
//!
//! Leaves out: UDT's control and DCUDP's, which belong to a protocol; the controls of RDMA, whose rates count packets
//! on the wire and whose feedback is that of NICs; parameters (scenarios have them).

use incastle_units::{Bytes, Ecn};

use crate::{
    Algorithm, Bbr, BbrConfig, Cubic, CubicConfig, D2tcp, D2tcpConfig, Dctcp, DctcpConfig, DcudpR,
    DcudpRConfig, DtCwa, DtCwaConfig, NewReno, NewRenoConfig, Prague, PragueConfig, Swift,
    SwiftConfig,
};

/// A controller by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NamedController {
    /// NewReno's window.
    NewReno,
    /// CUBIC.
    Cubic,
    /// DCTCP.
    Dctcp,
    /// D2TCP; without deadlines it is DCTCP.
    D2tcp,
    /// DT-CWA.
    DtCwa,
    /// Prague.
    Prague,
    /// Swift.
    Swift,
    /// BBR version 3.
    Bbr,
    /// The revised DCUDP.
    DcudpR,
}

impl NamedController {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::NewReno,
        Self::Cubic,
        Self::Dctcp,
        Self::D2tcp,
        Self::DtCwa,
        Self::Prague,
        Self::Swift,
        Self::Bbr,
        Self::DcudpR,
    ];

    /// Its name in scenarios and on command lines.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NewReno => "new-reno",
            Self::Cubic => "cubic",
            Self::Dctcp => "dctcp",
            Self::D2tcp => "d2tcp",
            Self::DtCwa => "dt-cwa",
            Self::Prague => "prague",
            Self::Swift => "swift",
            Self::Bbr => "bbr",
            Self::DcudpR => "dcudp-r",
        }
    }

    /// A description in a line.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::NewReno => "NewReno: slow start, congestion avoidance, halving",
            Self::Cubic => "CUBIC: grows with the cube of the time since the last loss",
            Self::Dctcp => "DCTCP: shrinks by the fraction of marked data",
            Self::D2tcp => "D2TCP: DCTCP with deadlines; without one it is DCTCP",
            Self::DtCwa => "DT-CWA: steps down while marks come back",
            Self::Prague => "Prague: DCTCP for L4S, sends ECT(1)",
            Self::Swift => "Swift: holds the delay at a target of 20 us",
            Self::Bbr => "BBR version 3: paces by a model of the path",
            Self::DcudpR => {
                "DCUDP revised: each mark takes a little; rates do not follow the round trips"
            }
        }
    }

    /// The one of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// A controller at the beginning of a connection with full packets of that payload, with its defaults.
    pub fn algorithm(self, mss: Bytes) -> Algorithm {
        match self {
            Self::NewReno => Algorithm::NewReno(NewReno::new(NewRenoConfig::new(mss))),
            Self::Cubic => Algorithm::from(Cubic::new(CubicConfig::new(mss))),
            Self::Dctcp => Algorithm::Dctcp(Dctcp::new(DctcpConfig::new(mss))),
            Self::D2tcp => Algorithm::from(D2tcp::new(D2tcpConfig::new(mss))),
            Self::DtCwa => Algorithm::from(DtCwa::new(DtCwaConfig::new(mss))),
            Self::Prague => Algorithm::from(Prague::new(PragueConfig::new(mss))),
            Self::Swift => Algorithm::from(Swift::new(SwiftConfig::new(mss))),
            Self::Bbr => Algorithm::from(Bbr::new(BbrConfig::new(mss))),
            Self::DcudpR => Algorithm::from(DcudpR::new(DcudpRConfig::new(mss))),
        }
    }

    /// The ECN field of its data: those that know a fraction of marks have one, Prague L4S's (RFC 9331, section
    /// 4.1). The others would take a mark of a threshold for a loss.
    pub const fn ecn(self) -> Ecn {
        match self {
            Self::Dctcp | Self::D2tcp | Self::DtCwa | Self::DcudpR => Ecn::Ect0,
            Self::Prague => Ecn::Ect1,
            Self::NewReno | Self::Cubic | Self::Swift | Self::Bbr => Ecn::NotEct,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Controller, Window};

    #[test]
    fn each_name_is_that_of_one_controller_with_a_window() {
        for named in NamedController::ALL {
            assert_eq!(NamedController::parse(named.name()), Some(named));
            let window = named.algorithm(Bytes::new(1456)).window();
            // RFC 6928: ten segments, for all but the one that starts at its interface's rate.
            let segments = if named == NamedController::DcudpR {
                33
            } else {
                10
            };
            let first = Bytes::new(1456 * segments);
            assert_eq!(window, Window::Limited(first), "{named:?}");
        }
        assert_eq!(NamedController::parse("dcqcn"), None);
    }
}
