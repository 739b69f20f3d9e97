//! Text that is not TOML: one error a line, with the remedy of the usual mistakes.

use toml::de::Error;

use crate::context::Context;
use crate::node::Place;

/// Reports the first error of each line.
pub fn report(text: &str, errors: &[Error], cx: &mut Context<'_>) {
    let mut last = None;
    for error in errors {
        let at = error.span().map_or(0, |span| span.start).min(text.len());
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count();
        if last == Some(line) {
            continue;
        }
        last = Some(line);
        let message = error.message();
        cx.error(Place::File(at), "", format!("this is not TOML: {message}"))
            .help_if(remedy(text, line, message));
    }
}

/// The remedy, where the mistake is a usual one.
fn remedy(text: &str, number: usize, message: &str) -> Option<String> {
    let line = text.lines().nth(number)?.trim();
    if line.contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}']) {
        return Some("quotes are straight: \" or '".to_owned());
    }
    if message.contains("duplicate key") {
        let first = first_of(text, number, line)? + 1;
        return Some(format!("it is in line {first}, too: give it once"));
    }
    let (key, value) = line.split_once('=')?;
    let value = value.split('#').next().unwrap_or_default().trim();
    let is_word =
        value.starts_with(char::is_alphanumeric) && !value.contains(['"', '\'', '[', '{']);
    is_word.then(|| format!("strings have quotes: {} = \"{value}\"", key.trim()))
}

/// The line, from 0, that has the table or key of a line first.
fn first_of(text: &str, number: usize, line: &str) -> Option<usize> {
    let before: Vec<&str> = text.lines().take(number).map(str::trim).collect();
    let header = |line: &str| line.split('#').next().unwrap_or_default().replace(' ', "");
    if line.starts_with('[') {
        return before.iter().position(|one| header(one) == header(line));
    }
    let key = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    let table = before.iter().rposition(|one| one.starts_with('['));
    let first = table.map_or(0, |line| line + 1);
    let inside = before[first..]
        .iter()
        .position(|one| key(one) == key(line))?;
    Some(first + inside)
}
