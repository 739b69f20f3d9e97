//! Messages of the system and of peers, made printable.

use std::io;

use crate::protocol::is_invisible;

/// A peer's string without anything that a terminal would obey.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| c.is_control() || is_invisible(c);
    let shown = |c: char| if hidden(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// The system's message of an error, without its number.
pub fn reason(error: &io::Error) -> String {
    unnumbered(error.to_string())
}

/// A string that ends in a message of the system, without its number.
pub fn unnumbered(text: String) -> String {
    match text.find(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_system_are_left_out() {
        let error = io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error());
        assert_eq!(reason(&error), "No such file or directory");
        let long = "1.2.3.4:5 cannot be reached: Network is unreachable (os error 101)";
        let short = "1.2.3.4:5 cannot be reached: Network is unreachable";
        assert_eq!(unnumbered(long.to_owned()), short);
    }

    #[test]
    fn a_peers_message_cannot_move_the_cursor() {
        assert_eq!(
            plain("a\x1b[2Jb\nc\u{9b}d"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d"
        );
    }
}
