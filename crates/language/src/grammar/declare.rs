//! The macros that declare a table of the language.
//!
//! `table!` declares a table with its keys, `choice!` a key whose word decides which further keys the
//! table has, `words!` a key with a fixed set of words. Each gives a typed value, its reader with
//! defaults and ranges, its part of the resolved text, and its description for schema and docs.
//!
//! A member of a table is written `MODE name: Type = default, shown "words", in range, from "source";`. The source is that
//! of the default.
//!
//! - `value`: a key; without a default it is required. A default may use members above it; then
//!   `shown` describes in words what it depends on.
//! - `option`: a key that may be absent.
//! - `section`: a table within the table.  `each`: any number of named ones.
//! - `maybe`: a table within the table that may be absent; `"off"` in its place means the same.
//! - `flat`: further keys of the same table, declared by another `table!` or `choice!`.

use crate::grammar::describe::{Key, Presence, join_doc};
use crate::grammar::range::Range;
use crate::grammar::reader::Table;
use crate::grammar::value::Value;
use crate::grammar::writer::Writer;

/// The description of a key.
pub(crate) fn key<T: Value>(
    name: &'static str,
    doc: &[&str],
    presence: Presence,
    range: Option<Range<T>>,
    source: Option<&'static str>,
) -> Key {
    Key {
        name,
        about: join_doc(doc),
        shape: T::shape(),
        presence,
        range: range.map(|range| (range.words(), range.bounds())),
        source,
    }
}

/// A table on one line: `{ shared = "4 MB", alpha = 0.21 }`.
pub(crate) fn inline<T: Table>(table: &T) -> String {
    let mut writer = Writer::default();
    table.write(&mut writer);
    writer.into_line()
}

macro_rules! table {
    (
        $(#[doc = $about:literal])*
        pub struct $table:ident {
            $(
                $(#[doc = $doc:literal])*
                $mode:ident $name:ident : $ty:ty $(= $default:expr)? $(, shown $shown:literal)? $(, in $range:expr)? $(, from $source:literal)? ;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(missing_docs, reason = "members carry the documentation of their keys")]
        pub struct $table {
            $( $(#[doc = $doc])* pub $name: $crate::grammar::declare::member_type!($mode $ty), )*
        }

        #[allow(unused_variables, reason = "tables without members use none of them")]
        impl $crate::grammar::reader::Table for $table {
            fn describe(description: &mut $crate::grammar::describe::Description) {
                $(
                    $crate::grammar::declare::describe_member!(
                        $mode description $name $ty [$($doc)*] [$($default)?] [$($shown)?] [$($range)?] [$($source)?]
                    );
                )*
            }

            fn read(
                reader: &mut $crate::grammar::reader::Reader<'_>,
                cx: &mut $crate::text::context::Context<'_>,
            ) -> Option<Self> {
                $(
                    let $name = $crate::grammar::declare::read_member!(
                        $mode reader cx $name $ty [$($default)?] [$($range)?]
                    );
                )*
                Some(Self {
                    $( $name: $crate::grammar::declare::finish_member!($mode $name [$($default)?]), )*
                })
            }

            fn write(&self, writer: &mut $crate::grammar::writer::Writer) {
                $( $crate::grammar::declare::write_member!($mode self writer $name); )*
            }
        }
    };
}

macro_rules! member_type {
    (option $ty:ty) => { Option<$ty> };
    (maybe $ty:ty) => { Option<$ty> };
    (each $ty:ty) => { Vec<(String, $ty)> };
    ($mode:ident $ty:ty) => { $ty };
}

macro_rules! describe_member {
    (value $d:ident $name:ident $ty:ty [$($doc:literal)*] [$($default:expr)?] [$shown:literal] [$($range:expr)?] [$($source:literal)?]) => {
        $d.value($crate::grammar::declare::key::<$ty>(
            stringify!($name), &[$($doc),*],
            $crate::grammar::describe::Presence::Depends($shown),
            $crate::grammar::declare::range_of!($ty, $($range)?),
            [$($source)?].first().copied(),
        ));
    };
    (value $d:ident $name:ident $ty:ty [$($doc:literal)*] [$default:expr] [] [$($range:expr)?] [$($source:literal)?]) => {
        $d.value($crate::grammar::declare::key::<$ty>(
            stringify!($name), &[$($doc),*],
            $crate::grammar::describe::Presence::Default(<$ty as $crate::grammar::value::Value>::write(&$default)),
            $crate::grammar::declare::range_of!($ty, $($range)?),
            [$($source)?].first().copied(),
        ));
    };
    (value $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [$($range:expr)?] [$($source:literal)?]) => {
        $d.value($crate::grammar::declare::key::<$ty>(
            stringify!($name), &[$($doc),*],
            $crate::grammar::describe::Presence::Required,
            $crate::grammar::declare::range_of!($ty, $($range)?),
            [$($source)?].first().copied(),
        ));
    };
    (option $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [$($range:expr)?] [$($source:literal)?]) => {
        $d.value($crate::grammar::declare::key::<$ty>(
            stringify!($name), &[$($doc),*],
            $crate::grammar::describe::Presence::Optional,
            $crate::grammar::declare::range_of!($ty, $($range)?),
            [$($source)?].first().copied(),
        ));
    };
    (section $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [] []) => {
        $d.section(stringify!($name), &[$($doc),*], <$ty as $crate::grammar::reader::Table>::description());
    };
    (maybe $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [] []) => {
        $d.maybe(stringify!($name), &[$($doc),*], <$ty as $crate::grammar::reader::Table>::description());
    };
    (each $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [] []) => {
        $d.each(stringify!($name), &[$($doc),*], <$ty as $crate::grammar::reader::Table>::description());
    };
    (flat $d:ident $name:ident $ty:ty [$($doc:literal)*] [] [] [] []) => {
        <$ty as $crate::grammar::reader::Table>::describe($d);
    };
}

macro_rules! range_of {
    ($ty:ty,) => {
        None::<$crate::grammar::range::Range<$ty>>
    };
    ($ty:ty, $range:expr) => {
        Some::<$crate::grammar::range::Range<$ty>>($range)
    };
}

macro_rules! read_member {
    (value $r:ident $cx:ident $name:ident $ty:ty [$default:expr] []) => {
        $r.value::<$ty>($cx, stringify!($name)).unwrap_or_else(|| $default)
    };
    (value $r:ident $cx:ident $name:ident $ty:ty [$default:expr] [$range:expr]) => {
        $r.ranged::<$ty>($cx, stringify!($name), &$range).unwrap_or_else(|| $default)
    };
    (value $r:ident $cx:ident $name:ident $ty:ty [] [$($range:expr)?]) => {{
        $r.require(stringify!($name));
        $crate::grammar::declare::read_member!(option $r $cx $name $ty [] [$($range)?])
    }};
    (option $r:ident $cx:ident $name:ident $ty:ty [] []) => {
        $r.value::<$ty>($cx, stringify!($name))
    };
    (option $r:ident $cx:ident $name:ident $ty:ty [] [$range:expr]) => {
        $r.ranged::<$ty>($cx, stringify!($name), &$range)
    };
    (section $r:ident $cx:ident $name:ident $ty:ty [] []) => {
        $r.section::<$ty>($cx, stringify!($name))
    };
    (maybe $r:ident $cx:ident $name:ident $ty:ty [] []) => {
        $r.maybe::<$ty>($cx, stringify!($name))
    };
    (each $r:ident $cx:ident $name:ident $ty:ty [] []) => {
        $r.each::<$ty>($cx, stringify!($name))
    };
    (flat $r:ident $cx:ident $name:ident $ty:ty [] []) => {
        <$ty as $crate::grammar::reader::Table>::read($r, $cx)
    };
}

macro_rules! finish_member {
    (value $name:ident [$default:expr]) => {
        $name
    };
    (option $name:ident []) => {
        $name
    };
    ($mode:ident $name:ident []) => {
        $name?
    };
}

macro_rules! write_member {
    (value $self:ident $w:ident $name:ident) => {
        $w.value(
            stringify!($name),
            &$crate::grammar::value::Value::write(&$self.$name),
        );
    };
    (option $self:ident $w:ident $name:ident) => {
        if let Some(value) = &$self.$name {
            $w.value(
                stringify!($name),
                &$crate::grammar::value::Value::write(value),
            );
        }
    };
    (section $self:ident $w:ident $name:ident) => {
        $w.section(stringify!($name), |inner| {
            $crate::grammar::reader::Table::write(&$self.$name, inner)
        });
    };
    (maybe $self:ident $w:ident $name:ident) => {
        match &$self.$name {
            None => $w.value(stringify!($name), "\"off\""),
            Some(table) => $w.section(stringify!($name), |inner| {
                $crate::grammar::reader::Table::write(table, inner)
            }),
        }
    };
    (each $self:ident $w:ident $name:ident) => {
        if !$self.$name.is_empty() {
            $w.section(stringify!($name), |all| {
                for (name, table) in &$self.$name {
                    all.section(name, |inner| {
                        $crate::grammar::reader::Table::write(table, inner)
                    });
                }
            });
        }
    };
    (flat $self:ident $w:ident $name:ident) => {
        $crate::grammar::reader::Table::write(&$self.$name, $w);
    };
}

table! {
    /// No further keys.
    pub struct NoKeys {}
}

/// Declares a key whose word decides which further keys the table has.
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        pub enum $choice:ident by $key:ident $(= $default:literal)? $(, elsewhere $elsewhere:path)? $(, besides $besides:literal)? {
            $( $(#[doc = $doc:literal])* $word:literal => $variant:ident($ty:ty), )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $choice {
            $( $(#[doc = $doc])* $variant($ty), )*
        }

        impl $choice {
            /// The word that chose this.
            pub fn word(&self) -> &'static str {
                match self { $( Self::$variant(_) => $word, )* }
            }

            /// All words.
            #[allow(dead_code, reason = "most choices are read here alone")]
            pub(crate) const WORDS: &'static [&'static str] = &[$($word),*];

            /// Reads the further keys of one of the words.
            pub(crate) fn read_as(
                word: &'static str,
                reader: &mut $crate::grammar::reader::Reader<'_>,
                cx: &mut $crate::text::context::Context<'_>,
            ) -> Option<Self> {
                match word {
                    $( $word => <$ty as $crate::grammar::reader::Table>::read(reader, cx).map(Self::$variant), )*
                    _ => unreachable!("the reader gives one of the words it was given"),
                }
            }
        }

        impl $crate::grammar::reader::Table for $choice {
            fn describe(description: &mut $crate::grammar::describe::Description) {
                description.members.push($crate::grammar::describe::Member::Choice($crate::grammar::describe::Choice {
                    key: stringify!($key),
                    about: $crate::grammar::describe::join_doc(&[$($about),*]),
                    default: [$($default)?].first().copied(),
                    alternatives: vec![$( $crate::grammar::describe::Alternative {
                        word: $word,
                        about: $crate::grammar::describe::join_doc(&[$($doc),*]),
                        table: <$ty as $crate::grammar::reader::Table>::description(),
                    }, )*],
                }));
            }

            fn read(
                reader: &mut $crate::grammar::reader::Reader<'_>,
                cx: &mut $crate::text::context::Context<'_>,
            ) -> Option<Self> {
                let word = reader.word(
                    cx,
                    stringify!($key),
                    $crate::grammar::value::Vocabulary {
                        $( elsewhere: $elsewhere, )?
                        $( besides: Some($besides), )?
                        ..$crate::grammar::value::Vocabulary::of(&[$($word),*])
                    },
                    [$($default)?].first().copied(),
                )?;
                Self::read_as(word, reader, cx)
            }

            fn write(&self, writer: &mut $crate::grammar::writer::Writer) {
                writer.value(stringify!($key), &$crate::text::node::quoted(self.word()));
                match self { $( Self::$variant(table) => $crate::grammar::reader::Table::write(table, writer), )* }
            }
        }
    };
}

/// The words of a key, each with its meaning.
pub(crate) trait Words {
    /// (word, meaning), in the order of their declaration.
    fn entries() -> Vec<(&'static str, String)>;
}

/// Declares a key with a fixed set of words: of an enumeration that it makes, or `for` one of another crate. Where other
/// choices have other words, `choice` finds the one to which a word belongs.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident $(, choice $choice:path)? {
            $( $(#[doc = $doc:literal])* $word:literal => $variant:ident, )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])* $variant, )*
        }

        $crate::grammar::declare::words! {
            for $name $(, choice $choice)? { $( $(#[doc = $doc])* $word => $variant, )* }
        }
    };
    (
        for $name:path $(, choice $choice:path)? {
            $( $(#[doc = $doc:literal])* $word:literal => $variant:ident, )*
        }
    ) => {
        impl $crate::grammar::declare::Words for $name {
            fn entries() -> Vec<(&'static str, String)> {
                vec![$( ($word, $crate::grammar::describe::join_doc(&[$($doc),*])), )*]
            }
        }

        impl $crate::grammar::value::Value for $name {
            fn read(
                node: &$crate::text::node::Node,
                key: &str,
                cx: &mut $crate::text::context::Context<'_>,
            ) -> Option<Self> {
                let known = $crate::grammar::value::Vocabulary {
                    $( choice_of: $choice, )?
                    ..$crate::grammar::value::Vocabulary::of(&[$($word),*])
                };
                match $crate::grammar::value::read_word(node, key, known, cx)? {
                    $( $word => Some(Self::$variant), )*
                    _ => unreachable!("one of the words"),
                }
            }

            fn write(&self) -> String {
                $crate::text::node::quoted(match self { $( Self::$variant => $word, )* })
            }

            fn shape() -> $crate::grammar::describe::Shape {
                $crate::grammar::value::words_shape(&[$($word),*])
            }
        }
    };
}

/// Reads the value of a `word_or!`: any, or one within a range.
macro_rules! read_other {
    ($ty:ty, $node:ident $key:ident $cx:ident) => {
        <$ty as $crate::grammar::value::Value>::read($node, $key, $cx)
    };
    ($ty:ty, $node:ident $key:ident $cx:ident $range:expr) => {
        $crate::grammar::range::read_within::<$ty>($node, $key, &$range, $cx)
    };
}

/// Declares a value that is either a fixed word or something else.
macro_rules! word_or {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident {
            $(#[doc = $doc_word:literal])* $word:literal => $variant:ident,
            $(#[doc = $doc:literal])* $other:ident($ty:ty) $(in $range:expr)?,
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum $name {
            $(#[doc = $doc_word])* $variant,
            $(#[doc = $doc])* $other($ty),
        }

        impl $crate::grammar::value::Value for $name {
            fn read(
                node: &$crate::text::node::Node,
                key: &str,
                cx: &mut $crate::text::context::Context<'_>,
            ) -> Option<Self> {
                if matches!(&node.content, $crate::text::node::Content::Text(text) if text == $word) {
                    return Some(Self::$variant);
                }
                if $crate::grammar::value::is_misspelt(node, key, $word, cx) {
                    return None;
                }
                $crate::grammar::declare::read_other!($ty, node key cx $($range)?).map(Self::$other)
            }

            fn write(&self) -> String {
                match self {
                    Self::$variant => $crate::text::node::quoted($word),
                    Self::$other(value) => $crate::grammar::value::Value::write(value),
                }
            }

            fn shape() -> $crate::grammar::describe::Shape {
                #[allow(unused_mut, reason = "most have no range")]
                let mut other = <$ty as $crate::grammar::value::Value>::shape();
                $(
                    let range: $crate::grammar::range::Range<$ty> = $range;
                    other.words = format!("{}, {}", other.words, range.words());
                )?
                $crate::grammar::value::word_or_shape($word, &other)
            }
        }
    };
}

pub(crate) use {
    choice, describe_member, finish_member, member_type, range_of, read_member, read_other, table,
    word_or, words, write_member,
};
