//! Values of keys: numbers, quantities with units, words, lists.

use std::str::FromStr;

use incastle_units::{Amount, Bytes, Packets, ParseUnitError, Quantity, Rate, Span};
use serde_json::json;

use crate::grammar::describe::Shape;
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};
use crate::text::suggest::{choices, did_you_mean, near};
use crate::text::synonyms::{self, NOT_MODELLED};

/// A value of a key.
pub trait Value: Sized {
    /// Reads it, or reports the error.
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self>;
    /// The value as TOML, which reads back to the same value.
    fn write(&self) -> String;
    /// Its type.
    fn shape() -> Shape;
    /// As a plain number, for the bounds of the schema.
    fn number(&self) -> Option<f64> {
        None
    }
    /// The name of the type in messages, before its range.
    const KIND: &'static str = "";
}

/// The last part of a key, its name in messages.
pub(crate) fn name_of(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Reports a value of the wrong type.
pub(crate) fn wrong(node: &Node, key: &str, expected: &str, cx: &mut Context<'_>) {
    cx.error(
        node.place,
        key,
        format!(
            "{} must be {expected}, found {}",
            name_of(key),
            node.content
        ),
    )
    .form(matches!(node.content, Content::List(_)))
    .help_if(
        quotes_missing(node)
            .or_else(|| number_meant(node, key, expected))
            .or_else(|| flag_meant(node, expected))
            .or_else(|| several_meant(node, key, expected)),
    );
}

/// The help for `true` or `false` in other words.
fn flag_meant(node: &Node, expected: &str) -> Option<String> {
    if expected != "true or false" {
        return None;
    }
    let meant = match &node.content {
        Content::Integer(number) => match number {
            0 => false,
            1 => true,
            _ => return None,
        },
        Content::Text(text) => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" | "enabled" => true,
            "false" | "no" | "off" | "disabled" => false,
            _ => return None,
        },
        _ => return None,
    };
    Some(format!("did you mean {meant}? without quotes"))
}

/// The help for a number that was written as a string or as a percentage: `"60 %"`, `"0.6"`.
fn number_meant(node: &Node, key: &str, expected: &str) -> Option<String> {
    let is_count = expected.starts_with("a whole number");
    if let Content::Float(value) = node.content
        && is_count
        && value.fract() == 0.0
    {
        return Some(format!("did you mean {value}? it has no point"));
    }
    let Content::Text(text) = &node.content else {
        return None;
    };
    if !is_count && !expected.starts_with("a number") {
        return None;
    }
    if is_count && let Ok(size) = text.parse::<Bytes>() {
        let segments = size.count().div_ceil(1_460);
        return Some(match key {
            "host.tso_burst" => format!("it counts segments: {segments} for {size}"),
            _ => "a count has no unit".to_owned(),
        });
    }
    if let Some((above, below)) = text.split_once('/')
        && let (Ok(above), Ok(below)) = (above.trim().parse::<f64>(), below.trim().parse::<f64>())
        && (above / below).is_finite()
    {
        let quotient = above / below;
        return Some(format!(
            "did you mean {quotient}? numbers are written out, without quotes"
        ));
    }
    let ends = ["%", "percent", "per cent"];
    let share = ends.iter().find_map(|end| text.trim().strip_suffix(end));
    let share = share.map(str::trim_end);
    let number: f64 = share.unwrap_or(text.trim()).parse().ok()?;
    match share {
        Some(_) if is_count => None,
        Some(_) => Some(format!(
            "did you mean {}? a fraction, not a percentage",
            number / 100.0
        )),
        None => Some(format!(
            "did you mean {}? numbers have no quotes",
            text.trim()
        )),
    }
}

/// The help for several values of a key that has one.
fn several_meant(node: &Node, key: &str, expected: &str) -> Option<String> {
    let is_one = ["a whole number", "a number", "one of"];
    let is_list = matches!(&node.content, Content::List(items) if !items.is_empty());
    let is_several = is_list && is_one.iter().any(|one| expected.starts_with(one));
    is_several.then(|| match key {
        "run.seed" => "several seeds are for the command: --seeds 3".to_owned(),
        _ => format!("`incastle sweep --set {key}=A,B` runs each of several values"),
    })
}

/// The help for a string that was meant as a list: `[storage:0]`, as `--set` gets it from a shell.
fn quotes_missing(node: &Node) -> Option<String> {
    let is_list = matches!(&node.content, Content::Text(text) if text.starts_with('['));
    is_list.then(|| "in a list each text has its quotes: [\"storage:0\", \"storage:1\"]".to_owned())
}

/// The vocabulary of a key.
#[derive(Clone, Copy)]
pub(crate) struct Vocabulary<'a> {
    /// The valid words.
    pub(crate) words: &'a [&'static str],
    /// The keys to write instead of a word that is valid elsewhere.
    pub(crate) elsewhere: fn(&str) -> Option<String>,
    /// The valid values other than these words.
    pub(crate) besides: Option<&'static str>,
    /// The choice to which a word of this key belongs, where other choices have other words.
    pub(crate) choice_of: fn(&str) -> Option<&'static str>,
}

impl<'a> Vocabulary<'a> {
    /// A vocabulary of these words only.
    pub(crate) fn of(words: &'a [&'static str]) -> Self {
        Self {
            words,
            elsewhere: |_| None,
            besides: None,
            choice_of: |_| None,
        }
    }

    /// The title of the valid values, with the choice to which they belong.
    fn title(&self) -> String {
        match self.words.first().and_then(|word| (self.choice_of)(word)) {
            Some(choice) => format!("valid with {choice}"),
            None => "valid".to_owned(),
        }
    }

    /// All valid values, for messages.
    fn valid(&self) -> String {
        let words = choices(self.words);
        match self.besides {
            Some(besides) => format!("{words}; or {besides}"),
            None => words,
        }
    }
}

/// Reads one of the words of a vocabulary.
pub(crate) fn read_word(
    node: &Node,
    key: &str,
    known: Vocabulary<'_>,
    cx: &mut Context<'_>,
) -> Option<&'static str> {
    let valid = known.valid();
    let Content::Text(text) = &node.content else {
        wrong(node, key, &format!("one of {valid}"), cx);
        return None;
    };
    if let Some(word) = known.words.iter().find(|word| *word == text) {
        return Some(word);
    }
    let (message, help) = unknown_word(name_of(key), text, known);
    cx.error(node.place, key, message).help(help);
    None
}

/// The message for an invalid word, and its remedy.
fn unknown_word(name: &str, text: &str, known: Vocabulary<'_>) -> (String, String) {
    let valid = known.valid();
    let unknown = format!("unknown {name} {}", quoted(text));
    if let Some(instead) = (known.elsewhere)(text).or_else(|| synonyms::value(text, known.words)) {
        if instead.starts_with('"') {
            return (unknown, format!("did you mean {instead}? valid: {valid}"));
        }
        let help = format!("write {instead}; {name} is {valid}");
        let assignment = format!("{name} =");
        let own = instead.starts_with(&assignment);
        let alone = if instead.contains(&assignment) {
            " alone"
        } else {
            ""
        };
        let elsewhere = || format!("{} is not set by {name}{alone}", quoted(text));
        return (if own { unknown } else { elsewhere() }, help);
    }
    if let Some(absent) = synonyms::absent(text) {
        let message = format!(
            "{name} cannot be {}: {absent} is not modelled",
            quoted(text)
        );
        return (message, format!("valid: {valid}; {NOT_MODELLED}"));
    }
    let title = known.title();
    if let Some(choice) = (known.choice_of)(text) {
        let message = format!("{} is a {name} of {choice}", quoted(text));
        return (message, format!("{title}: {valid}"));
    }
    let near = near(text, known.words);
    (unknown, format!("{near}{title}: {valid}"))
}

pub(crate) fn words_shape(words: &[&str]) -> Shape {
    Shape {
        words: choices(words),
        json: json!({ "enum": words }),
    }
}

/// Whether a string was meant to be `word`, the only one of its key; then it is reported.
pub(crate) fn is_misspelt(node: &Node, key: &str, word: &str, cx: &mut Context<'_>) -> bool {
    let Content::Text(text) = &node.content else {
        return false;
    };
    let endless = ["inf", "infinite", "infinity", "none", "no limit", "endless"];
    let misspelt = did_you_mean(text, &[word]).is_some()
        || (word == "unlimited" && endless.contains(&text.to_lowercase().as_str()));
    if misspelt {
        cx.error(
            node.place,
            key,
            format!("{} cannot be {}", name_of(key), quoted(text)),
        )
        .help(format!("did you mean {}?", quoted(word)));
    }
    misspelt
}

pub(crate) fn word_or_shape(word: &str, other: &Shape) -> Shape {
    Shape {
        words: format!("{} or {}", quoted(word), other.words),
        json: json!({ "anyOf": [{ "const": word }, other.json] }),
    }
}

/// A quantity whose text carries its unit.
fn read_quantity<T: FromStr<Err = ParseUnitError>>(
    node: &Node,
    key: &str,
    expected: Quantity,
    cx: &mut Context<'_>,
) -> Option<T> {
    let Content::Text(text) = &node.content else {
        wrong(node, key, &quantity_words(expected), cx);
        return None;
    };
    match text.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            cx.error(
                node.place,
                key,
                format!("{}: {}", name_of(key), error.message()),
            )
            .help_if(error.help());
            None
        }
    }
}

/// `a rate such as "10 Gbit/s"`.
fn quantity_words(quantity: Quantity) -> String {
    let examples: Vec<String> = quantity
        .examples()
        .iter()
        .map(|text| quoted(text))
        .collect();
    format!("{} such as {}", quantity.words(), examples.join(" or "))
}

macro_rules! quantity_value {
    ($($ty:ty: $quantity:ident),*) => { $(
        impl Value for $ty {
            fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
                read_quantity(node, key, Quantity::$quantity, cx)
            }

            fn write(&self) -> String {
                quoted(&self.to_string())
            }

            fn shape() -> Shape {
                Shape {
                    words: quantity_words(Quantity::$quantity),
                    json: json!({ "type": "string", "pattern": "^\\s*[0-9]" }),
                }
            }
        }
    )* };
}

quantity_value!(Span: Duration, Rate: Rate, Bytes: Size, Packets: Count, Amount: Amount);

macro_rules! integer_value {
    ($($ty:ty),*) => { $(
        impl Value for $ty {
            fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
                if let Content::Integer(integer) = node.content {
                    if let Ok(value) = <$ty>::try_from(integer) {
                        return Some(value);
                    }
                }
                let limits = format!("a whole number from 0 to {}", Self::MAX);
                wrong(node, key, &limits, cx);
                None
            }

            fn write(&self) -> String {
                self.to_string()
            }

            fn shape() -> Shape {
                Shape {
                    words: "a whole number".to_owned(),
                    json: json!({ "type": "integer", "minimum": 0 }),
                }
            }

            const KIND: &'static str = "a whole number, ";

            #[allow(clippy::cast_lossless, reason = "the macro serves 64 bits too")]
            fn number(&self) -> Option<f64> {
                Some(*self as f64)
            }
        }
    )* };
}

integer_value!(u32, u64);

impl Value for f64 {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        match node.content {
            Content::Float(value) if value.is_finite() => Some(value),
            Content::Integer(value) => Some(value as Self),
            _ => {
                wrong(node, key, "a number", cx);
                None
            }
        }
    }

    fn write(&self) -> String {
        // Rust's debug form is the shortest that reads back to the same number, and valid TOML.
        format!("{self:?}")
    }

    fn shape() -> Shape {
        Shape {
            words: "a number".to_owned(),
            json: json!({ "type": "number" }),
        }
    }

    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

impl Value for bool {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        if let Content::Flag(flag) = node.content {
            return Some(flag);
        }
        wrong(node, key, "true or false", cx);
        None
    }

    fn write(&self) -> String {
        self.to_string()
    }

    fn shape() -> Shape {
        Shape {
            words: "true or false".to_owned(),
            json: json!({ "type": "boolean" }),
        }
    }
}

impl Value for String {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        if let Content::Text(text) = &node.content {
            return Some(text.clone());
        }
        wrong(node, key, "a string", cx);
        None
    }

    fn write(&self) -> String {
        quoted(self)
    }

    fn shape() -> Shape {
        Shape {
            words: "a string".to_owned(),
            json: json!({ "type": "string" }),
        }
    }
}

/// A list of values; a single value stands for a list of one.
impl<T: Value> Value for Vec<T> {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Content::List(items) = &node.content else {
            return T::read(node, key, cx).map(|value| vec![value]);
        };
        // Every item is read, so that every wrong one is reported.
        let values: Vec<Option<T>> = items.iter().map(|item| T::read(item, key, cx)).collect();
        values.into_iter().collect()
    }

    fn write(&self) -> String {
        match self.as_slice() {
            [only] => only.write(),
            values => {
                let items: Vec<String> = values.iter().map(Value::write).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    fn shape() -> Shape {
        let item = T::shape();
        Shape {
            words: format!("{}, or a list of such", item.words),
            json: json!({ "anyOf": [item.json, { "type": "array", "items": item.json }] }),
        }
    }
}
