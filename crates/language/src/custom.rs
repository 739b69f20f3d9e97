//! `congestion = "custom"`: a user-defined controller, by its name and parameters.
//!
//! The language has the name alone. The running program resolves it, with
//! [`Controllers`]: a Rust program its own types, the Python package a class. Leaves out: controllers
//! of UDT's connections, and how a name is resolved (`Files::controller`).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use incastle_congestion::{Controller, NewRenoConfig};
use serde_json::json;

use crate::grammar::declare::table;
use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, wrong};
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted, quoted_key};

table! {
    /// A user-defined controller.
    pub struct Custom {
        /// The controller: a Python class, as `"my_controller.py:Delay"` with the file in the scenario's folder or else the working folder, or a name that the running program has registered.
        value controller: Reference;
        /// Its parameters, by the names that it defines: numbers, strings, true or false.
        value parameters: Parameters = Parameters::default();
        /// The hash of its source, which results have; a controller with another one is then refused.
        option controller_source: String;
    }
}

/// The name of a controller, with its maker once that is resolved.
#[derive(Clone)]
pub struct Reference {
    name: String,
    maker: Option<Maker>,
}

/// The input of a controller's maker, at the beginning of its connection.
#[derive(Debug, Clone, PartialEq)]
pub struct ControllerSetting {
    /// The sizes that the scenario gives: segment, initial window, floor.
    pub window: NewRenoConfig,
    /// The other parameters from the scenario.
    pub parameters: Parameters,
}

/// Named values, in the order in which they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Parameters(Vec<(String, Parameter)>);

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// A whole number.
    Integer(i64),
    /// A finite number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A string.
    Text(String),
}

type Maker = Arc<dyn Fn(&ControllerSetting) -> Box<dyn Controller> + Send + Sync>;

/// Controllers from outside, by the names under which scenarios call them.
#[derive(Clone, Default)]
pub struct Controllers(BTreeMap<String, Maker>);

impl Controllers {
    /// These and one more: `make` is called at the beginning of each connection, for both of its
    /// ends.
    #[must_use]
    pub fn with(
        mut self,
        name: &str,
        make: impl Fn(&ControllerSetting) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Self {
        self.0.insert(name.to_owned(), Arc::new(make));
        self
    }
}

impl fmt::Debug for Controllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Custom {
    /// A controller at the beginning of a connection.
    pub fn make(&self, window: NewRenoConfig) -> Box<dyn Controller> {
        let make = self.controller.maker.as_ref();
        let make = make.expect("a scenario whose controllers are unknown is not run");
        make(&ControllerSetting {
            window,
            parameters: self.parameters.clone(),
        })
    }
}

impl Reference {
    /// As the scenario has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its maker is resolved.
    pub fn is_bound(&self) -> bool {
        self.maker.is_some()
    }

    /// Sets its maker, if there is one.
    pub fn bind(&mut self, controllers: &Controllers) {
        if let Some(maker) = controllers.0.get(&self.name) {
            self.maker = Some(Arc::clone(maker));
        }
    }
}

impl Parameters {
    /// Names and values.
    pub fn entries(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A number by its name, whole or not; none if it is absent, or something else.
    pub fn number(&self, name: &str) -> Option<f64> {
        let (_, value) = self.entries().find(|(own, _)| *own == name)?;
        match value {
            Parameter::Integer(value) => Some(*value as f64),
            Parameter::Number(value) => Some(*value),
            Parameter::Flag(_) | Parameter::Text(_) => None,
        }
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reference").field(&self.name).finish()
    }
}

/// Scenarios that name the same controller are equal, with or without its maker.
impl PartialEq for Reference {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Value for Reference {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        match &node.content {
            Content::Text(name) if !name.trim().is_empty() => Some(Self {
                name: name.clone(),
                maker: None,
            }),
            _ => {
                let expected = "a Python class such as \"my_controller.py:Delay\", or a name";
                wrong(node, key, expected, cx);
                None
            }
        }
    }

    fn write(&self) -> String {
        quoted(&self.name)
    }

    fn shape() -> Shape {
        Shape {
            words: "a Python class (`\"my_controller.py:Delay\"`) or a name".to_owned(),
            json: json!({ "type": "string", "minLength": 1 }),
        }
    }
}

impl Value for Parameters {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Some(entries) = node.entries() else {
            wrong(node, key, "a table such as { gain = 0.5 }", cx);
            return None;
        };
        // Every one is read, so that every wrong one is reported.
        let values: Vec<Option<(String, Parameter)>> = entries
            .iter()
            .map(|entry| {
                let own = format!("{key}.{}", entry.key);
                cx.record(&own, entry.place);
                let value = Parameter::read(&entry.node, &own, cx)?;
                Some((entry.key.clone(), value))
            })
            .collect();
        values.into_iter().collect::<Option<_>>().map(Self)
    }

    fn write(&self) -> String {
        let entries = self.entries();
        let pairs: Vec<String> = entries
            .map(|(name, value)| format!("{} = {}", quoted_key(name), value.write()))
            .collect();
        if pairs.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{ {} }}", pairs.join(", "))
        }
    }

    fn shape() -> Shape {
        let one = json!({ "type": ["number", "string", "boolean"] });
        Shape {
            words: "a table (`{ gain = 0.5 }`)".to_owned(),
            json: json!({ "type": "object", "additionalProperties": one }),
        }
    }
}

impl Parameter {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let found = match &node.content {
            Content::Integer(value) => i64::try_from(*value).ok().map(Self::Integer),
            Content::Float(value) if value.is_finite() => Some(Self::Number(*value)),
            Content::Flag(value) => Some(Self::Flag(*value)),
            Content::Text(value) => Some(Self::Text(value.clone())),
            _ => None,
        };
        if found.is_none() {
            wrong(node, key, "a number, a string, true or false", cx);
        }
        found
    }

    fn write(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            Self::Number(value) => Value::write(value),
            Self::Flag(value) => value.to_string(),
            Self::Text(value) => quoted(value),
        }
    }
}
