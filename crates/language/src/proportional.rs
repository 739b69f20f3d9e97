//! Amounts that may grow with the rate of a link: `"5 Mbit/s"`, or `"5 Mbit/s per 25 Gbit/s"`.
//!
//! Papers and vendors state thresholds and increases of RDMA networks so. At another rate the amount is multiplied
//! first and divided then, and rounded down.

use std::fmt::Display;
use std::str::FromStr;

use incastle_units::{Bytes, Rate};
use serde_json::json;

use crate::grammar::describe::Shape;
use crate::grammar::value::{Value, wrong};
use crate::text::context::Context;
use crate::text::node::{Content, Node, quoted};

/// The word between an amount and the rate to which it belongs.
const PER: &str = " per ";

/// A fixed amount, or one in proportion to the rate of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proportional<T> {
    /// The amount, at any rate or at the rate `per`.
    pub amount: T,
    /// The rate to which the amount belongs.
    pub per: Option<Rate>,
}

/// An amount that can be scaled.
pub trait Scalable: Copy + Value + FromStr + Display {
    /// As a number in its unit.
    fn count(self) -> u64;
    /// From such a number.
    fn of(count: u64) -> Self;
}

impl Scalable for Rate {
    fn count(self) -> u64 {
        self.bits_per_second()
    }

    fn of(count: u64) -> Self {
        Self::from_bits_per_second(count)
    }
}

impl Scalable for Bytes {
    fn count(self) -> u64 {
        self.count()
    }

    fn of(count: u64) -> Self {
        Self::new(count)
    }
}

impl<T: Scalable> Proportional<T> {
    /// The same at every rate.
    pub const fn fixed(amount: T) -> Self {
        Self { amount, per: None }
    }

    /// In proportion to the rate.
    pub const fn per(amount: T, rate: Rate) -> Self {
        Self {
            amount,
            per: Some(rate),
        }
    }

    /// The amount at a link of this rate.
    pub fn at(self, rate: Rate) -> T {
        let Some(per) = self.per else {
            return self.amount;
        };
        let product = u128::from(self.amount.count()) * u128::from(rate.bits_per_second());
        let scaled = product / u128::from(per.bits_per_second());
        T::of(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl<T: Scalable> Value for Proportional<T> {
    fn read(node: &Node, key: &str, cx: &mut Context<'_>) -> Option<Self> {
        let Content::Text(text) = &node.content else {
            return T::read(node, key, cx).map(Self::fixed);
        };
        let Some((amount, per)) = text.split_once(PER) else {
            return T::read(node, key, cx).map(Self::fixed);
        };
        let per = per
            .trim()
            .parse()
            .ok()
            .filter(|per: &Rate| per.bits_per_second() > 0);
        let found = amount.trim().parse().ok().zip(per);
        if found.is_none() {
            wrong(node, key, &Self::shape().words, cx);
        }
        found.map(|(amount, per)| Self::per(amount, per))
    }

    fn write(&self) -> String {
        match self.per {
            None => self.amount.write(),
            Some(per) => quoted(&format!("{}{PER}{per}", self.amount)),
        }
    }

    fn shape() -> Shape {
        Shape {
            words: format!(
                "{}, also in proportion to the rate of the link: \"... per 25 Gbit/s\"",
                T::shape().words
            ),
            json: json!({ "type": "string", "pattern": "^\\s*[0-9]" }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GBIT: u64 = 1_000_000_000;

    #[test]
    fn an_amount_grows_with_the_rate_or_not() {
        let rate = |gbit| Rate::from_bits_per_second(gbit * GBIT);
        let fixed = Proportional::fixed(Bytes::new(1_000));
        assert_eq!(fixed.at(rate(400)), Bytes::new(1_000));
        let per = Proportional::per(Rate::from_bits_per_second(5_000_000), rate(25));
        assert_eq!(per.at(rate(100)), Rate::from_bits_per_second(20_000_000));
        // 1 B per 3 Gbit/s at 10 Gbit/s: 3.33.
        let odd = Proportional::per(Bytes::new(1), rate(3));
        assert_eq!(odd.at(rate(10)), Bytes::new(3));
    }
}
