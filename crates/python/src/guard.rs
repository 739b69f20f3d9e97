//! Panics of the engine, caught and described.
//!
//! The engine asserts its invariants in release builds too. A violated one is a defect of ours: the
//! user is told so in one message with the place, and asked to report it; a Rust backtrace on the
//! terminal would help nobody. What this leaves out: aborts (out of memory, stack overflow), which
//! no library can catch.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

thread_local! {
    /// Where the latest panic of this thread happened, "file:line:column".
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Records the place of a panic instead of printing it. The hook belongs to this module's own copy
/// of the Rust runtime, so that no other extension module is affected.
pub(crate) fn install() {
    set_hook(Box::new(|info| {
        let place = info.location().map(ToString::to_string);
        PLACE.with(|slot| *slot.borrow_mut() = place);
    }));
}

/// Runs `work`; a panic becomes its message and place.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safety: whatever `work` had in its hands is dropped with the error, never used again.
    catch_unwind(AssertUnwindSafe(work)).map_err(|payload| describe(payload.as_ref()))
}

fn describe(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    let place = PLACE.with(|slot| slot.borrow_mut().take());
    match place {
        Some(place) => format!("{message} ({place})"),
        None => message,
    }
}
