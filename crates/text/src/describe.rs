//! The description of the language, from the declarations that read it. It produces
//! the JSON Schema, the key tables of the documentation, the catalog and "did you mean".

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// In words, with an example: `a rate ("10 Gbit/s")`.
    pub words: String,
    /// As JSON Schema.
    pub json: serde_json::Value,
}

/// All keys of one table.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// Its keys and tables.
    pub members: Vec<Member>,
}

/// One member of a table.
#[derive(Debug, Clone)]
pub enum Member {
    /// A key with a value.
    Value(Key),
    /// A table within the table.
    Section {
        /// Its name.
        name: &'static str,
        /// Its meaning.
        about: String,
        /// Its keys.
        table: Description,
        /// Whether it may be absent, or `"off"`.
        optional: bool,
    },
    /// Any number of named tables within the table.
    Each {
        /// Its name.
        name: &'static str,
        /// Its meaning.
        about: String,
        /// Its keys.
        table: Description,
    },
    /// A key whose word decides which further keys the same table has.
    Choice(Choice),
}

/// A key with a value.
#[derive(Debug, Clone)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its meaning.
    pub about: String,
    /// The type of its value.
    pub shape: Shape,
    /// The effect of its absence.
    pub presence: Presence,
    /// The allowed range in words, and its numeric bounds for the schema.
    pub range: Option<(String, Bounds)>,
    /// The source of the default, where it has one of its own.
    pub source: Option<&'static str>,
}

/// Numeric bounds, where a range has any: (limit, whether the limit itself is allowed).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Bounds {
    /// The lower one.
    pub low: Option<(f64, bool)>,
    /// The upper one.
    pub high: Option<(f64, bool)>,
}

/// The effect of a key's absence.
#[derive(Debug, Clone)]
pub enum Presence {
    /// An error.
    Required,
    /// Nothing.
    Optional,
    /// This value, as TOML.
    Default(String),
    /// A value that depends on others, in words.
    Depends(&'static str),
}

/// A key whose word decides which further keys the same table has.
#[derive(Debug, Clone)]
pub struct Choice {
    /// The key.
    pub key: &'static str,
    /// Its meaning.
    pub about: String,
    /// The default word.
    pub default: Option<&'static str>,
    /// The words.
    pub alternatives: Vec<Alternative>,
}

/// One word of a choice.
#[derive(Debug, Clone)]
pub struct Alternative {
    /// The word.
    pub word: &'static str,
    /// Its meaning.
    pub about: String,
    /// The further keys.
    pub table: Description,
}

impl Description {
    /// Every key that this table may have under any choice, with that choice.
    pub fn all_keys(&self) -> Vec<(&'static str, Option<String>)> {
        let mut keys = Vec::new();
        self.collect_keys(None, &mut keys);
        keys
    }

    fn collect_keys(
        &self,
        condition: Option<&String>,
        keys: &mut Vec<(&'static str, Option<String>)>,
    ) {
        for member in &self.members {
            match member {
                Member::Value(key) => keys.push((key.name, condition.cloned())),
                Member::Section { name, .. } | Member::Each { name, .. } => {
                    keys.push((name, condition.cloned()));
                }
                Member::Choice(choice) => {
                    keys.push((choice.key, condition.cloned()));
                    for alternative in &choice.alternatives {
                        let belongs = format!("{} = \"{}\"", choice.key, alternative.word);
                        alternative.table.collect_keys(Some(&belongs), keys);
                    }
                }
            }
        }
    }
}

/// Joins the lines of a documentation comment.
pub fn join_doc(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The calls that `table!` makes.
impl Description {
    /// A key.
    pub fn value(&mut self, key: Key) {
        self.members.push(Member::Value(key));
    }

    /// A table.
    pub fn section(&mut self, name: &'static str, doc: &[&str], table: Self) {
        self.members.push(Member::Section {
            name,
            about: join_doc(doc),
            table,
            optional: false,
        });
    }

    /// A table that may be absent.
    pub fn maybe(&mut self, name: &'static str, doc: &[&str], table: Self) {
        self.members.push(Member::Section {
            name,
            about: join_doc(doc),
            table,
            optional: true,
        });
    }

    /// Any number of named tables.
    pub fn each(&mut self, name: &'static str, doc: &[&str], table: Self) {
        self.members.push(Member::Each {
            name,
            about: join_doc(doc),
            table,
        });
    }
}
