//! "Did you mean": the nearest valid word.

use crate::node::quoted;

/// A likeness from which two words are probably the same.
const NEARLY: f64 = 0.93;

/// The valid word most similar to `found`, if any is similar at all.
pub fn did_you_mean<'a>(found: &str, valid: &[&'a str]) -> Option<&'a str> {
    let folded = found.to_lowercase().replace('_', "-");
    let mut best: Option<(f64, &str)> = None;
    for word in valid {
        let likeness = strsim::jaro_winkler(&folded, &word.replace('_', "-"));
        if likeness > best.map_or(0.8, |(most, _)| most) {
            best = Some((likeness, word));
        }
    }
    best.map(|(_, word)| word)
}

/// Whether `found` is probably a misspelling of `word`; short words are too alike to be sure.
pub fn nearly(found: &str, word: &str) -> bool {
    let (found, word) = (fold(found), fold(word));
    word.len() > 4 && strsim::jaro_winkler(&found, &word) > NEARLY
}

/// A word without case, blanks, `-` and `_`.
pub fn fold(word: &str) -> String {
    let kept = word.chars().filter(|c| !matches!(c, '-' | '_' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

/// The beginning of a help: `did you mean "b"? `, or nothing where no valid word is similar.
pub fn near(found: &str, valid: &[&str]) -> String {
    did_you_mean(found, valid)
        .filter(|near| *near != found)
        .map(|near| format!("did you mean {}? ", quoted(near)))
        .unwrap_or_default()
}

/// `"a", "b" or "c"`.
pub fn choices(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
