//! "Did you mean": the nearest valid word.

use crate::text::node::quoted;

/// The valid word most similar to `found`, if any is similar at all.
pub(crate) fn did_you_mean<'a>(found: &str, valid: &[&'a str]) -> Option<&'a str> {
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

/// The beginning of a help: `did you mean "b"? `, or nothing where no valid word is similar.
pub(crate) fn near(found: &str, valid: &[&str]) -> String {
    did_you_mean(found, valid)
        .filter(|near| *near != found)
        .map(|near| format!("did you mean {}? ", quoted(near)))
        .unwrap_or_default()
}

/// `"a", "b" or "c"`.
pub(crate) fn choices(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}
