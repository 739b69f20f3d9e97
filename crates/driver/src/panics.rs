//! Panics of a run, caught and described.
//!
//! The engine asserts its invariants in release builds too. A violated one is a defect of Incastle. It
//! becomes a value with its message and place, so that one run's defect neither ends the others nor
//! writes on the terminal. Leaves out: aborts (out of memory, stack overflow), which no
//! library can catch.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Panic {
    /// The panic's message.
    pub message: String,
    /// Its place, as "file:line:column".
    pub place: Option<String>,
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(f, "{} ({place})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

thread_local! {
    /// Whether this thread is inside [`catch`].
    static CATCHING: Cell<bool> = const { Cell::new(false) };
    /// The place of the latest panic inside [`catch`].
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`; a panic in this thread becomes a value, and nothing is printed.
pub fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Panic> {
    listen();
    let outside = CATCHING.replace(true);
    // Unwind safety: the state of `work` is dropped with the error, never used again.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    CATCHING.set(outside);
    outcome.map_err(|payload| Panic {
        message: message(payload.as_ref()),
        place: PLACE.take(),
    })
}

/// Only a program's hook receives the place of a panic. This one passes every panic that is not
/// caught here to the previous hook.
fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if CATCHING.get() {
                PLACE.set(info.location().map(ToString::to_string));
            } else {
                before(info);
            }
        }));
    });
}

fn message(payload: &(dyn Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned())
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    #[test]
    fn a_panic_names_what_and_where() {
        let length = -1;
        let line = line!() + 1;
        let panic = catch(|| assert!(length >= 0, "the queue has {length} packets"))
            .expect_err("an invariant");
        assert_eq!(panic.message, "the queue has -1 packets");
        let place = panic.place.as_deref().expect("a place");
        assert!(place.contains(&format!("panics.rs:{line}:")), "{place}");
        assert_eq!(
            panic.to_string(),
            format!("the queue has -1 packets ({place})")
        );
    }

    #[test]
    fn a_panic_may_have_no_message() {
        let panic = catch(|| panic_any(7)).expect_err("a panic");
        assert_eq!(panic.message, "a panic without a message");
        assert!(panic.place.is_some());
    }

    #[test]
    fn one_catch_may_be_inside_another() {
        let outer = catch(|| {
            let inner = catch(|| panic!("inner")).expect_err("a panic");
            assert_eq!(inner.message, "inner");
            panic!("outer");
        });
        assert_eq!(outer.expect_err("a panic").message, "outer");
        assert_eq!(catch(|| 7), Ok(7));
        assert!(!CATCHING.get(), "the next panic is printed again");
    }
}
