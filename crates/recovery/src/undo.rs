//! Needless reactions to loss, found by duplicate reports (RFC 2883; the rule is Linux's): the controller's
//! state before the reaction is kept until every segment that was sent again is reported as a duplicate.
//!
//! Leaves out: Eifel detection by timestamps (RFC 3522).

use incastle_congestion::ControlState;

/// The last reaction that may be undone.
#[derive(Debug, Clone)]
pub struct Undo {
    /// SND.UNA at the reaction.
    from: u64,
    /// Segments sent again since, of which no duplicate report has come.
    repeats: u32,
    /// The controller's state before it.
    pub before: ControlState,
}

impl Undo {
    /// A reaction, with SND.UNA and the controller's state before it.
    pub fn new(from: u64, before: ControlState) -> Self {
        Self {
            from,
            repeats: 0,
            before,
        }
    }

    /// A segment was sent again.
    pub fn on_repeat(&mut self) {
        self.repeats = self.repeats.saturating_add(1);
    }

    /// The receiver reports the segment at `seq` as a duplicate; gives whether now every repetition was
    /// needless.
    pub fn on_duplicate(&mut self, seq: u64) -> bool {
        let own = seq >= self.from && self.repeats > 0;
        self.repeats -= u32::from(own);
        own && self.repeats == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undo(repeats: u32) -> Undo {
        let mut undo = Undo::new(1000, ControlState::default());
        for _ in 0..repeats {
            undo.on_repeat();
        }
        undo
    }

    #[test]
    fn a_reaction_is_needless_once_every_repetition_was() {
        let mut two = undo(2);
        assert!(!two.on_duplicate(1000));
        // An older one.
        assert!(!two.on_duplicate(0));
        assert!(two.on_duplicate(2000));
        // Once.
        assert!(!two.on_duplicate(2000));
        assert!(!undo(0).on_duplicate(1000));
    }
}
