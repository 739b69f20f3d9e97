//! Text that is not TOML: one error a line, with the remedy of the usual mistakes.

use toml::de::Error;

use crate::context::Context;
use crate::kind;
use crate::node::{Place, is_bare_key, quoted};

/// The message about a key or table that is there before.
const TWICE: &str = "duplicate key";

/// Reports the first error of each line, or that the file is of another kind.
pub fn report(text: &str, errors: &[Error], cx: &mut Context<'_>) {
    if !errors.is_empty()
        && let Some(kind) = kind::of_others(text)
    {
        cx.error(Place::File(0), "", kind.message).help(kind.help);
        return;
    }
    let start = |error: &&Error| error.span().map_or(0, |span| span.start).min(text.len());
    let mut errors: Vec<&Error> = errors.iter().collect();
    errors.sort_by_key(start);
    let mut last = None;
    for error in errors {
        let at = start(&error);
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count();
        if last == Some(line) {
            continue;
        }
        let message = error.message();
        let remedy = remedy(text, line, message);
        // A key of a table that is there twice.
        if last.is_some() && remedy.is_none() && message.contains(TWICE) {
            continue;
        }
        last = Some(line);
        cx.error(Place::File(at), "", format!("this is not TOML: {message}"))
            .help_if(remedy);
    }
}

/// The remedy, where the mistake is a usual one.
fn remedy(text: &str, number: usize, message: &str) -> Option<String> {
    let line = text.lines().nth(number)?.trim();
    if line.contains(['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}']) {
        return Some("quotes are straight: \" or '".to_owned());
    }
    if message.contains(TWICE) {
        let first = first_of(text, number, line)? + 1;
        return Some(format!("it is in line {first}, too: give it once"));
    }
    if line.starts_with(['/', ';', '%', '*']) {
        return Some("comments begin with #".to_owned());
    }
    if line.starts_with(['[', '<']) {
        return header(line);
    }
    match line.split_once('=') {
        Some((key, value)) if key.trim().contains(' ') => {
            let key = key.trim().replace(' ', "_");
            let value = written(before_comment(value));
            is_bare_key(&key).then(|| format!("keys have no blanks: {key} = {value}"))
        }
        Some((key, value)) => value_remedy(key.trim(), value.trim()),
        None => pair(line),
    }
}

/// The remedy for the line of a table: `[run`, `<run>`.
fn header(line: &str) -> Option<String> {
    let line = line.split('#').next().unwrap_or_default();
    let name = line.trim_matches(['[', ']', '<', '>', '/', ' ']);
    if name.split('.').all(is_bare_key) {
        return Some(format!(
            "a table begins with its name in brackets: [{name}]"
        ));
    }
    let (parent, label) = name.rsplit_once('.')?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let mended = label.replace(|c| !allowed(c), "-");
    let is_label = parent.split('.').all(is_bare_key) && !label.contains(['"', '\'', '[']);
    let of = if label.contains(':') {
        format!(", with of = {}", quoted(label))
    } else {
        String::new()
    };
    is_label.then(|| format!("names have letters, digits, - and _ only: [{parent}.{mended}]{of}"))
}

/// The remedy for a key and a value without `=`: `rate: 1`, `rate 1`.
fn pair(line: &str) -> Option<String> {
    let (key, value) = line.split_once([':', ' '])?;
    let value = before_comment(value.trim_start_matches([':', ' ']));
    let is_pair = is_bare_key(key) && !value.is_empty();
    is_pair.then(|| {
        format!(
            "a key and its value have = between them: {key} = {}",
            written(value)
        )
    })
}

/// The remedy for a value.
fn value_remedy(key: &str, value: &str) -> Option<String> {
    for sign in ["//", "/*", ";", "--"] {
        if let Some((before, after)) = outside_quotes(value, sign) {
            let (before, after) = (written(before.trim()), after.trim());
            let after = after.trim_end_matches("*/").trim_end();
            return Some(if after.is_empty() && sign == ";" {
                format!("a line has no ; at its end: {key} = {before}")
            } else {
                format!("comments begin with #: {key} = {before} # {after}")
            });
        }
    }
    let value = before_comment(value);
    if value.starts_with(['"', '\'']) {
        let quote = &value[..1];
        let is_open = value.matches(quote).count() == 1;
        return is_open.then(|| format!("the string has no end: {key} = {value}{quote}"));
    }
    if let Some(items) = value.strip_prefix('[') {
        let items = items.trim_end_matches(']').split(',').map(str::trim);
        let items: Vec<String> = items.filter(|one| !one.is_empty()).map(written).collect();
        let list = format!("[{}]", items.join(", "));
        let is_whole = value.ends_with(']') && list != value && !value.contains('{');
        return is_whole.then(|| format!("in a list each string has its quotes: {key} = {list}"));
    }
    let is_word = value.starts_with(|c: char| c.is_alphanumeric() || "-.+".contains(c))
        && !value.contains(['"', '\'', '[', '{', '=']);
    is_word.then(|| unquoted(key, value))
}

/// The remedy for a value without quotes.
fn unquoted(key: &str, value: &str) -> String {
    match value.to_ascii_lowercase().as_str() {
        word @ ("true" | "false") => return format!("write {word}: {key} = {word}"),
        "yes" => return format!("write true: {key} = true"),
        "no" => return format!("write false: {key} = false"),
        "none" | "null" | "nil" => return format!("without a value, leave {key} out"),
        _ => {}
    }
    match number(value) {
        Some((why, number)) => format!("{why}: {key} = {number}"),
        None => format!("strings have quotes: {key} = {}", quoted(value)),
    }
}

/// The number that was meant, and the rule it breaks.
fn number(value: &str) -> Option<(&'static str, String)> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let plain = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
    if let Some((above, below)) = value.split_once('/') {
        let (above, below) = (plain(above.trim())?, plain(below.trim())?);
        let quotient = above / below;
        return quotient
            .is_finite()
            .then(|| ("numbers are written out", quotient.to_string()));
    }
    let factors: Option<Vec<f64>> = value.split('*').map(|part| plain(part.trim())).collect();
    if let Some(factors) = factors.filter(|factors| factors.len() > 1) {
        let product: f64 = factors.iter().product();
        return Some(("numbers are written out", product.to_string()));
    }
    if let Some(share) = value.strip_suffix('%') {
        let share = plain(share.trim())? / 100.0;
        return Some(("a fraction, not a percentage", share.to_string()));
    }
    if let Some((whole, rest)) = value.split_once(',') {
        let groups: Vec<&str> = rest.split(',').collect();
        if !digits(whole) || !groups.iter().all(|group| digits(group)) {
            return None;
        }
        return Some(if groups.iter().all(|group| group.len() == 3) {
            (
                "digits have no groups",
                format!("{whole}{}", groups.concat()),
            )
        } else {
            (
                "numbers have a point",
                format!("{whole}.{}", groups.concat()),
            )
        });
    }
    let bare = value.trim_start_matches('0');
    let has_zeros = bare.len() < value.len() && plain(value).is_some();
    if has_zeros && bare.starts_with(|c: char| c.is_ascii_digit()) {
        return Some(("numbers have no leading zeros", bare.to_owned()));
    }
    if value.starts_with('.') || value.ends_with('.') {
        let number = plain(value)?;
        return Some(("a point has digits on both sides", format!("{number:?}")));
    }
    None
}

/// A value as TOML has it: a string in quotes, unless it is a value already.
fn written(value: &str) -> String {
    let is_value = value.starts_with(['"', '\'', '[', '{'])
        || value.parse::<f64>().is_ok()
        || matches!(value, "true" | "false");
    if is_value {
        value.to_owned()
    } else {
        quoted(value)
    }
}

/// A value without its comment.
fn before_comment(value: &str) -> &str {
    outside_quotes(value, "#")
        .map_or(value, |(before, _)| before)
        .trim()
}

/// The text before and after a sign that is in no string.
fn outside_quotes<'a>(text: &'a str, sign: &str) -> Option<(&'a str, &'a str)> {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if open == c => quote = None,
            Some(_) => {}
            None if text[at..].starts_with(sign) => {
                return Some((&text[..at], &text[at + sign.len()..]));
            }
            // A comment may have any sign.
            None if c == '#' => return None,
            None => quote = matches!(c, '"' | '\'').then_some(c),
        }
    }
    None
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

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::remedy;

    /// The remedy for one line.
    fn of(line: &str) -> String {
        let (_, errors) = DeTable::parse_recoverable(line);
        let first = errors.first().unwrap_or_else(|| panic!("{line} is TOML"));
        remedy(line, 0, first.message()).unwrap_or_default()
    }

    #[test]
    fn the_remedy_is_the_line_as_it_should_be() {
        for (line, remedy) in [
            ("handshake = False", "write false: handshake = false"),
            ("handshake = no", "write false: handshake = false"),
            ("deadline = None", "without a value, leave deadline out"),
            ("seed = 1 // one", "comments begin with #: seed = 1 # one"),
            ("seed = 1 ; one", "comments begin with #: seed = 1 # one"),
            ("seed = 1;", "a line has no ; at its end: seed = 1"),
            (
                "rate = 1 Gbit/s;",
                "a line has no ; at its end: rate = \"1 Gbit/s\"",
            ),
            ("// the run", "comments begin with #"),
            ("; the run", "comments begin with #"),
            ("g = 1/16", "numbers are written out: g = 0.0625"),
            ("rounds = 4*8", "numbers are written out: rounds = 32"),
            (
                "min rto = \"1 ms\"",
                "keys have no blanks: min_rto = \"1 ms\"",
            ),
            ("seed = 01", "numbers have no leading zeros: seed = 1"),
            ("load = 0,5", "numbers have a point: load = 0.5"),
            ("senders = 1,000", "digits have no groups: senders = 1000"),
            ("load = 50 %", "a fraction, not a percentage: load = 0.5"),
            ("load = .5", "a point has digits on both sides: load = 0.5"),
            (
                "congestion = dctcp # ours",
                "strings have quotes: congestion = \"dctcp\"",
            ),
            (
                "rate = 10 Gbit/s",
                "strings have quotes: rate = \"10 Gbit/s\"",
            ),
            (
                "duration = \"2 s",
                "the string has no end: duration = \"2 s\"",
            ),
            (
                "window = [storage:0, \"storage:1\"]",
                "in a list each string has its quotes: window = [\"storage:0\", \"storage:1\"]",
            ),
            (
                "senders: 20",
                "a key and its value have = between them: senders = 20",
            ),
            (
                "rate: 1 Gbit/s",
                "a key and its value have = between them: rate = \"1 Gbit/s\"",
            ),
            (
                "[network",
                "a table begins with its name in brackets: [network]",
            ),
            (
                "[flows.my storage]",
                "names have letters, digits, - and _ only: [flows.my-storage]",
            ),
            (
                "[network.links.sender:0]",
                "names have letters, digits, - and _ only: [network.links.sender-0], with of = \"sender:0\"",
            ),
            (
                "<network>",
                "a table begins with its name in brackets: [network]",
            ),
        ] {
            assert_eq!(of(line), remedy, "{line}");
        }
    }
}
