//! The outcome of each file of a command, and the summary at its end.

use std::time::Duration;

use crate::error::{DONE, FAILED, INTERRUPTED};
use crate::terminal::{error, note, print};
use crate::transfer::Moved;

/// The count of a command's files.
pub(super) struct Tally {
    files: usize,
    done: usize,
    failed: usize,
}

impl Tally {
    pub(super) const fn new(files: usize) -> Self {
        Self {
            files,
            done: 0,
            failed: 0,
        }
    }

    /// A file is whole.
    pub(super) fn done(&mut self, name: &str, moved: Moved, time: Duration) {
        self.done += 1;
        print(format_args!("{name}: {}", moved.summary(time)));
    }

    /// A file failed.
    pub(super) fn failed(&mut self, name: &str, failure: &impl std::fmt::Display) {
        self.failed += 1;
        error(format_args!("{name}: {failure}"));
    }

    /// The exit status of a command that came to its end.
    pub(super) fn status(&self) -> u8 {
        if self.failed == 0 && self.done == self.files {
            return DONE;
        }
        if self.files > 1 {
            note(format_args!(
                "{} of {} files are whole",
                self.done, self.files
            ));
        }
        FAILED
    }

    /// The message and the exit status of an interrupted command.
    pub(super) fn interrupted(&self, place: &str) -> u8 {
        let (done, files) = (self.done, self.files);
        note(format_args!(
            "interrupted: {done} of {files} files are whole {place}; \
             the same command goes on where this one stopped"
        ));
        INTERRUPTED
    }
}
