//! The measured interval.

/// A boundary of the measured interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// It begins.
    Begin,
    /// It ends.
    End,
}
