//! Loss lists: a number with its top bit set opens a range, the next number closes it. In the
//! draft's appendix (draft-gg-udt-03) 2, 6-11, 14 is 0x00000002 0x80000006 0x0000000B 0x0000000E.

use super::{Number, WireError, word};

const OPENS: u32 = 1 << 31;

/// Packets by their numbers on the wire, first and last included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberRange {
    /// The first.
    pub first: Number,
    /// The last.
    pub last: Number,
}

/// The losses of one NAK: still in its datagram, checked, or typed.
#[derive(Debug, Clone, Copy)]
pub struct Losses<'a>(Form<'a>);

#[derive(Debug, Clone, Copy)]
enum Form<'a> {
    Wire(&'a [u8]),
    Typed(&'a [NumberRange]),
}

impl<'a> Losses<'a> {
    /// Losses that never were in a datagram.
    pub const fn typed(ranges: &'a [NumberRange]) -> Self {
        Self(Form::Typed(ranges))
    }

    /// Checks a NAK's body.
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, WireError> {
        if body.is_empty() || !body.len().is_multiple_of(4) {
            return Err(WireError::Losses);
        }
        let mut at = 0;
        while let Some(first) = word(body, at) {
            at += 1;
            if first & OPENS == 0 {
                continue;
            }
            let last = word(body, at).ok_or(WireError::Losses)?;
            let (first, closed) = (Number::from_word(first), Number::from_word(last));
            if last & OPENS != 0 || first.distance_to(closed) < 0 {
                return Err(WireError::Losses);
            }
            at += 1;
        }
        Ok(Self(Form::Wire(body)))
    }

    /// The ranges, in the order of the list.
    pub fn ranges(self) -> impl Iterator<Item = NumberRange> + 'a {
        let mut at = 0;
        std::iter::from_fn(move || self.next_range(&mut at))
    }

    /// The range that begins at place `at`, which moves behind it.
    fn next_range(self, at: &mut usize) -> Option<NumberRange> {
        let body = match self.0 {
            Form::Typed(ranges) => {
                *at += 1;
                return ranges.get(*at - 1).copied();
            }
            Form::Wire(body) => body,
        };
        let opens = word(body, *at)?;
        let closes = if opens & OPENS == 0 {
            opens
        } else {
            *at += 1;
            word(body, *at)?
        };
        *at += 1;
        Some(NumberRange {
            first: Number::from_word(opens),
            last: Number::from_word(closes),
        })
    }

    /// Bytes that the list takes on the wire.
    pub(super) fn wire_bytes(self) -> usize {
        self.ranges()
            .map(|range| if range.first == range.last { 4 } else { 8 })
            .sum()
    }

    pub(super) fn write(self, out: &mut Vec<u8>) {
        for range in self.ranges() {
            if range.first == range.last {
                super::put(out, &[range.first.word()]);
            } else {
                super::put(out, &[range.first.word() | OPENS, range.last.word()]);
            }
        }
    }
}
