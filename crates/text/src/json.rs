//! The JSON Schema of one table of the language (draft 2020-12), for editors.
//!
//! A choice becomes the union of all its keys, with conditions for the required ones.
//! Leaves out: units inside strings, and relations between keys, which `incastle check` alone checks.

use serde_json::{Map, Value, json};

use crate::describe::{Choice, Description, Key, Member, Presence};

/// The schema of one table.
pub fn object(description: &Description) -> Value {
    let mut parts = Parts::default();
    parts.add(description);
    let mut object = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": parts.properties,
    });
    if !parts.required.is_empty() {
        object["required"] = json!(parts.required);
    }
    if !parts.conditions.is_empty() {
        object["allOf"] = json!(parts.conditions);
    }
    object
}

#[derive(Default)]
struct Parts {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
    conditions: Vec<Value>,
}

impl Parts {
    fn add(&mut self, description: &Description) {
        for member in &description.members {
            match member {
                Member::Value(key) => {
                    self.property(key.name, value(key));
                    if matches!(key.presence, Presence::Required) {
                        self.required.push(key.name);
                    }
                }
                Member::Section {
                    name,
                    about,
                    table,
                    optional,
                } => {
                    let mut section = object(table);
                    if *optional {
                        section = json!({ "anyOf": [{ "const": "off" }, section] });
                    }
                    section["description"] = json!(about);
                    if section.get("required").is_some() {
                        self.required.push(name);
                    }
                    self.property(name, section);
                }
                Member::Each { name, about, table } => self.property(
                    name,
                    json!({
                        "type": "object",
                        "description": about,
                        "additionalProperties": object(table),
                    }),
                ),
                Member::Choice(choice) => self.choice(choice),
            }
        }
    }

    fn property(&mut self, name: &str, schema: Value) {
        match self.properties.get_mut(name) {
            None => {
                self.properties.insert(name.to_owned(), schema);
            }
            Some(known) if *known == schema => {}
            Some(known) => {
                // Two alternatives of a choice give the same key different meanings.
                let first = known.take();
                *known = match first.get("anyOf").and_then(Value::as_array) {
                    Some(list) if first.get("description").is_none() => {
                        let mut list = list.clone();
                        list.push(schema);
                        json!({ "anyOf": list })
                    }
                    _ => json!({ "anyOf": [first, schema] }),
                };
            }
        }
    }

    fn choice(&mut self, choice: &Choice) {
        let words: Vec<&str> = choice.alternatives.iter().map(|one| one.word).collect();
        let about: Vec<String> = choice
            .alternatives
            .iter()
            .map(|one| format!("{}: {}", one.word, one.about))
            .collect();
        let mut key = json!({
            "enum": words,
            "description": format!("{} {}.", choice.about, about.join("; ")),
        });
        match choice.default {
            Some(default) => key["default"] = json!(default),
            None => self.required.push(choice.key),
        }
        self.property(choice.key, key);
        for alternative in &choice.alternatives {
            let mut inner = Self::default();
            inner.add(&alternative.table);
            for (name, schema) in inner.properties {
                self.property(&name, schema);
            }
            if inner.required.is_empty() && inner.conditions.is_empty() {
                continue;
            }
            let mut chosen = json!({ "properties": { choice.key: { "const": alternative.word } } });
            if choice.default != Some(alternative.word) {
                chosen["required"] = json!([choice.key]);
            }
            let mut then = json!({});
            if !inner.required.is_empty() {
                then["required"] = json!(inner.required);
            }
            if !inner.conditions.is_empty() {
                then["allOf"] = json!(inner.conditions);
            }
            self.conditions.push(json!({ "if": chosen, "then": then }));
        }
    }
}

fn value(key: &Key) -> Value {
    let mut schema = key.shape.json.clone();
    let mut about = key.about.clone();
    if let Some((words, bounds)) = &key.range {
        about = format!("{about} Allowed: {words}.");
        for (limit, closed, open) in [
            (bounds.low, "minimum", "exclusiveMinimum"),
            (bounds.high, "maximum", "exclusiveMaximum"),
        ] {
            if let Some((limit, allowed)) = limit {
                schema[if allowed { closed } else { open }] = json!(limit);
            }
        }
    }
    match &key.presence {
        Presence::Default(text) => {
            if let Some(default) = default_json(text) {
                schema["default"] = default;
            }
        }
        Presence::Depends(words) => about = format!("{about} Default: {words}."),
        Presence::Required | Presence::Optional => {}
    }
    schema["description"] = json!(about);
    schema
}

/// A default, written as TOML, as JSON.
fn default_json(text: &str) -> Option<Value> {
    let table: toml::Table = format!("value = {text}").parse().ok()?;
    serde_json::to_value(table.get("value")?).ok()
}
