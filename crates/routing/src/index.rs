//! Typed indices: the objects of a network are in arrays and addressed by their places.

/// Defines a typed index.
#[macro_export]
macro_rules! index {
    ($name:ident, $what:literal) => {
        #[doc = concat!("The place of ", $what, " in its array.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The place as a number.
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            #[doc = concat!("The index of ", $what, " at this place.")]
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("an index has 32 bits"))
            }
        }
    };
}

index!(HostIndex, "a host");
index!(SwitchIndex, "a switch");
index!(PortIndex, "an egress port, and of the link behind it,");
index!(FlowIndex, "a flow");
index!(EndpointIndex, "an endpoint");

impl PortIndex {
    /// Beyond all ports.
    pub const NONE: Self = Self(u32::MAX);
}

/// A node of the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// A host.
    Host(HostIndex),
    /// A switch.
    Switch(SwitchIndex),
}

/// One of the two endpoints of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The endpoint that opens the flow (RFC 5103's word), at the host `from`.
    Initiator,
    /// Its peer, at the host `to`.
    Responder,
}

impl Side {
    /// Both sides, in the order of their endpoints' indices.
    pub const BOTH: [Self; 2] = [Self::Initiator, Self::Responder];

    /// The other side.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Initiator => Self::Responder,
            Self::Responder => Self::Initiator,
        }
    }
}

impl FlowIndex {
    /// The endpoint of this flow on one side.
    pub const fn endpoint(self, side: Side) -> EndpointIndex {
        EndpointIndex(self.0 * 2 + matches!(side, Side::Responder) as u32)
    }
}

impl EndpointIndex {
    /// The flow.
    pub const fn flow(self) -> FlowIndex {
        FlowIndex(self.0 / 2)
    }

    /// The other endpoint.
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Its side.
    pub const fn side(self) -> Side {
        if self.0 & 1 == 0 {
            Side::Initiator
        } else {
            Side::Responder
        }
    }
}
