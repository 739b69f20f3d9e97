//! The keys of a transport in the complete scenario of a result that explain timers.

use incastle_units::Span;

use crate::columns::Malformed;

/// The transport of a group of flows.
pub(crate) struct Transport(toml::Table);

impl Transport {
    /// Reads it from the complete scenario.
    pub(crate) fn of(scenario: &str, group: &str) -> Result<Self, Malformed> {
        let scenario = scenario.parse::<toml::Table>().ok();
        let flows = scenario.as_ref().and_then(|table| table.get("flows"));
        let transport = flows.and_then(|flows| flows.get(group)?.get("transport")?.as_table());
        let missing = || Malformed::Transport(group.to_owned());
        transport.cloned().map(Self).ok_or_else(missing)
    }

    /// The word of a key; empty if it has none.
    pub(crate) fn word(&self, key: &str) -> &str {
        self.0.get(key).and_then(toml::Value::as_str).unwrap_or("")
    }

    /// The number of a key; 0 if it has none.
    pub(crate) fn whole(&self, key: &str) -> i64 {
        self.0
            .get(key)
            .and_then(toml::Value::as_integer)
            .unwrap_or(0)
    }

    pub(crate) fn is_on(&self, key: &str) -> bool {
        self.0.get(key).and_then(toml::Value::as_bool) == Some(true)
    }

    /// The span of a key in picoseconds; 0 if it has none.
    pub(crate) fn span(&self, key: &str) -> i64 {
        self.word(key)
            .parse()
            .map_or(0, |span: Span| span.as_ps().cast_signed())
    }
}
