//! The ECN field, as the sans-IO connections and as the socket have it.

use incastle_units::Ecn;
use quinn_udp::EcnCodepoint;

pub(crate) fn codepoint(ecn: Ecn) -> Option<EcnCodepoint> {
    match ecn {
        Ecn::NotEct => None,
        Ecn::Ect0 => Some(EcnCodepoint::Ect0),
        Ecn::Ect1 => Some(EcnCodepoint::Ect1),
        Ecn::Ce => Some(EcnCodepoint::Ce),
    }
}

/// ECT(1) is sent by none of ours: a path that writes it is not to be trusted with marks (RFC 9000,
/// section 13.4.2.1).
pub(crate) fn ecn_of(codepoint: Option<EcnCodepoint>) -> Ecn {
    match codepoint {
        None | Some(EcnCodepoint::Ect1) => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}
