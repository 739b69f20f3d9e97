//! The dependences of a transfer of a list: event counts, by name.
//!
//! A transfer may advance one count when all of it is acknowledged at its source, and one when all of it
//! has arrived at its destination. It may begin when counts have reached values. The triggers of htsim are
//! such counts: `oneshot` is a count of 1, and `barrier` a count of all that it waits for. `multishot` is a
//! count of 1, 2, 3 ... for the transfers that it starts one after the other.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::text::node::quoted;

/// The event counts of a transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct Dependence {
    /// The counts that it waits for, by number, and the values that they must have reached.
    pub after: Vec<(u32, u64)>,
    /// The count that it advances when all of it is acknowledged.
    pub acknowledged: Option<u32>,
    /// The count that it advances when all of it has arrived.
    pub arrived: Option<u32>,
}

impl Dependence {
    /// The counts that it advances.
    pub fn advanced(&self) -> impl Iterator<Item = u32> {
        self.acknowledged.into_iter().chain(self.arrived)
    }

    /// From the strings of the three columns; absent where all are empty.
    pub(crate) fn read(
        [after, acknowledged, arrived]: [&str; 3],
        counts: &mut Counts,
    ) -> Result<Option<Box<Self>>, String> {
        if [after, acknowledged, arrived]
            .iter()
            .all(|text| text.is_empty())
        {
            return Ok(None);
        }
        let mut advanced = |text: &str| match text {
            "" => Ok(None),
            name => counts.number(name).map(Some),
        };
        let (acknowledged, arrived) = (advanced(acknowledged)?, advanced(arrived)?);
        let after = after.split_whitespace().map(|term| awaited(term, counts));
        Ok(Some(Box::new(Self {
            after: after.collect::<Result<_, _>>()?,
            acknowledged,
            arrived,
        })))
    }

    /// The strings of the three columns.
    pub(crate) fn strings(&self, names: &[String]) -> [String; 3] {
        let mut after = String::new();
        for &(count, value) in &self.after {
            let separator = if after.is_empty() { "" } else { " " };
            let name = &names[count as usize];
            write!(after, "{separator}{name}").expect("writing to a string cannot fail");
            if value != 1 {
                write!(after, ":{value}").expect("writing to a string cannot fail");
            }
        }
        let name = |count: Option<u32>| {
            let name = count.map(|count| names[count as usize].clone());
            name.unwrap_or_default()
        };
        [after, name(self.acknowledged), name(self.arrived)]
    }
}

/// `NAME`, or `NAME:VALUE`.
fn awaited(term: &str, counts: &mut Counts) -> Result<(u32, u64), String> {
    let (name, value) = match term.split_once(':') {
        None => (term, Some(1)),
        Some((name, value)) => (name, value.parse().ok().filter(|value| *value > 0)),
    };
    let value = value.ok_or_else(|| {
        format!(
            "{} is no count to wait for; write NAME, or NAME:VALUE with a whole number from 1",
            quoted(term)
        )
    })?;
    Ok((counts.number(name)?, value))
}

/// The counts of a list, numbered as they are named.
#[derive(Default)]
pub(crate) struct Counts {
    names: Vec<String>,
    numbers: BTreeMap<String, u32>,
}

impl Counts {
    fn number(&mut self, name: &str) -> Result<u32, String> {
        if let Some(&number) = self.numbers.get(name) {
            return Ok(number);
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(format!(
                "{} is no name of an event count: letters, digits, \"-\", \"_\" and \".\"",
                quoted(name)
            ));
        }
        let number = u32::try_from(self.names.len()).expect("fewer than 2^32 names");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Ok(number)
    }

    /// The names, by number.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }
}
