//! The ECN field of an IP header (RFC 3168, section 5). ECT(1) is not used by any model here.

/// The two ECN bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ecn {
    /// The transport does not understand ECN: congested switches drop.
    #[default]
    NotEct,
    /// ECN-capable: ECT(0).
    Ect0,
    /// Congestion experienced.
    Ce,
    /// ECN-capable: ECT(1), the identifier of L4S (RFC 9331).
    Ect1,
}

impl Ecn {
    /// Whether a switch may mark the packet instead of dropping it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_marked_before_stays_capable() {
        assert!(!Ecn::NotEct.is_capable());
        assert!(Ecn::Ect0.is_capable());
        assert!(Ecn::Ect1.is_capable());
        assert!(Ecn::Ce.is_capable());
        assert_eq!(Ecn::default(), Ecn::NotEct);
    }
}
