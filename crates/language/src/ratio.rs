//! Ratios of two quantities, as oversubscription has them: `3`, or `"3:1"`.

use serde_json::json;

use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, wrong};
use crate::text::context::Context;
use crate::text::node::{Content, Node};

/// A ratio to one.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Ratio(pub f64);

impl Value for Ratio {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Content::Text(text) = &node.content else {
            return f64::read(node, key, cx).map(Self);
        };
        let part = |part: &str| part.trim().parse::<f64>().ok();
        let ratio = text.split_once(':').and_then(|(first, second)| {
            let ratio = part(first)? / part(second)?;
            ratio.is_finite().then_some(ratio)
        });
        if ratio.is_none() {
            wrong(node, key, &Self::shape().words, cx);
        }
        ratio.map(Self)
    }

    fn write(&self) -> String {
        self.0.write()
    }

    fn shape() -> Shape {
        Shape {
            words: "a number or a ratio such as \"3:1\"".to_owned(),
            json: json!({ "anyOf": [
                { "type": "number" },
                { "type": "string", "pattern": "^\\s*[0-9.]+\\s*:\\s*[0-9.]+\\s*$" },
            ] }),
        }
    }

    fn number(&self) -> Option<f64> {
        Some(self.0)
    }
}
