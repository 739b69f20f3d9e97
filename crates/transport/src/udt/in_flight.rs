//! The packets sent and not acknowledged, and the lost ones among them (draft-gg-udt-03, section 6.1).
//! Leaves out when they are sent again, which the sender decides.

use std::collections::VecDeque;

use incastle_units::Time;

use super::backlog::Payload;
use super::config::ExpRepeat;
use super::loss_list::LossList;
use super::sequence::{Number, Numbering};
use super::stats::Stats;
use super::wire::{Losses, NumberRange};

/// A packet that was sent and is not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Sent {
    payload: Payload,
    /// When it left; NEVER once it was sent again.
    left_at: Time,
    /// Its message was given up.
    dropped: bool,
}

/// A data packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) number: Number,
    pub(super) payload: Payload,
    pub(super) retransmission: bool,
}

/// A message that the peer must not wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drop {
    pub(super) message: u32,
    pub(super) first: Number,
    pub(super) last: Number,
}

/// The effect of a cumulative acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Acked {
    pub(super) packets: u32,
    pub(super) bytes: u64,
}

/// The packets that a NAK reports, without impossible ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Lost {
    pub(super) packets: u32,
    pub(super) largest: u64,
}

/// The packets `una..nxt`, counted from 0.
///
/// Invariant: `una <= nxt`, `sent` holds exactly `una..nxt`, `losses` lies within it.
pub(super) struct InFlight {
    numbering: Numbering,
    una: u64,
    nxt: u64,
    sent: VecDeque<Sent>,
    losses: LossList,
    /// Payload bytes in `sent`.
    bytes: u64,
}

impl InFlight {
    pub(super) fn new(first: Number, max_loss_ranges: u32) -> Self {
        Self {
            numbering: Numbering::new(first),
            una: 0,
            nxt: 0,
            sent: VecDeque::new(),
            losses: LossList::new(max_loss_ranges as usize),
            bytes: 0,
        }
    }

    /// Everything below is acknowledged.
    #[inline]
    pub(super) const fn una(&self) -> u64 {
        self.una
    }

    /// The next new packet.
    #[inline]
    pub(super) const fn nxt(&self) -> u64 {
        self.nxt
    }

    #[inline]
    pub(super) const fn packets(&self) -> u64 {
        self.nxt - self.una
    }

    /// Packets in the loss list.
    pub(super) const fn lost(&self) -> u64 {
        self.losses.packets()
    }

    /// When a packet left that is outstanding and was sent once (Karn's rule, RFC 6298, section 3).
    pub(super) fn sent_once_at(&self, number: Number) -> Option<Time> {
        let packet = self.numbering.index(number, self.una)?;
        let index = usize::try_from(packet.checked_sub(self.una)?).ok()?;
        let at = self.sent.get(index)?.left_at;
        (at != Time::NEVER).then_some(at)
    }

    #[inline]
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Whether something is known to be lost.
    #[inline]
    pub(super) fn has_losses(&self) -> bool {
        !self.losses.is_empty()
    }

    /// The beginning of the first payload.
    pub(super) fn first_offset(&self) -> Option<u64> {
        self.sent.front().map(|sent| sent.payload.offset)
    }

    /// The message of the packet that was sent last.
    pub(super) fn last_message(&self) -> Option<u32> {
        self.sent.back().map(|sent| sent.payload.message)
    }

    /// The place of a packet that is outstanding, or was.
    pub(super) fn index(&self, number: Number) -> Option<u64> {
        self.numbering.index(number, self.una)
    }

    /// Numbers a new packet.
    pub(super) fn push(&mut self, payload: Payload, now: Time) -> Chunk {
        let number = self.numbering.wire(self.nxt);
        self.sent.push_back(Sent {
            payload,
            left_at: now,
            dropped: false,
        });
        self.nxt += 1;
        self.bytes += u64::from(payload.length);
        assert_eq!(
            self.sent.len() as u64,
            self.packets(),
            "what is outstanding can be sent again"
        );
        Chunk {
            number,
            payload,
            retransmission: false,
        }
    }

    /// The packet that a peer expects next; absent where the one before it was never sent. A number
    /// behind SND.UNA is late, not wrong.
    pub(super) fn next_expected(&self, next: Number) -> Option<u64> {
        let next = self.numbering.index(next, self.una).unwrap_or(0);
        (next <= self.nxt).then_some(next)
    }

    /// A cumulative acknowledgement: everything before `next` has arrived.
    pub(super) fn acknowledge(&mut self, next: u64) -> Acked {
        assert!(next <= self.nxt, "only what was sent is acknowledged");
        let mut acked = Acked::default();
        while self.una < next {
            let sent = self.sent.pop_front().expect("una..nxt was sent");
            acked.packets += 1;
            acked.bytes += u64::from(sent.payload.length);
            self.una += 1;
        }
        assert!(
            acked.bytes <= self.bytes,
            "what is acknowledged was in flight"
        );
        self.bytes -= acked.bytes;
        assert!(
            !self.is_empty() || self.bytes == 0,
            "no bytes are in flight without a packet"
        );
        self.losses.remove_below(self.una);
        acked
    }

    /// A NAK. Ranges that were never sent or are acknowledged are counted.
    pub(super) fn on_nak(&mut self, losses: Losses<'_>, stats: &mut Stats) -> Lost {
        let mut lost = Lost::default();
        for NumberRange { first, last } in losses.ranges() {
            let start = self.numbering.index(first, self.una).unwrap_or(0);
            let last = self.numbering.index(last, self.una);
            let outstanding = |last: &u64| (self.una..self.nxt).contains(last);
            let Some(last) = last.filter(outstanding).filter(|last| start <= *last) else {
                stats.refused.nak_ranges += 1;
                continue;
            };
            let start = start.max(self.una);
            // EXP repairs losses that find no room.
            if self.losses.insert(start, last + 1).is_err() {
                stats.refused.nak_ranges += 1;
                continue;
            }
            lost.packets = lost.packets.saturating_add((last + 1 - start) as u32);
            lost.largest = lost.largest.max(last);
        }
        lost
    }

    /// EXP: all packets go into the loss list, or the first and the last of them.
    pub(super) fn on_exp(&mut self, repeat: ExpRepeat) {
        assert!(!self.is_empty(), "EXP repeats what is outstanding");
        match repeat {
            ExpRepeat::Everything => {
                let inserted = self.losses.insert(self.una, self.nxt);
                assert!(inserted.is_ok(), "the list's ranges lie within this one");
            }
            ExpRepeat::Ends => {
                // Where there is no room for them, enough is about to be sent again.
                let ends = [self.una, self.nxt - 1];
                let _ = ends.map(|packet| self.losses.insert(packet, packet + 1));
            }
        }
    }

    /// The first packet of the loss list, no longer in it.
    pub(super) fn pop_lost(&mut self) -> Option<u64> {
        let packet = self.losses.pop_first()?;
        assert!(
            (self.una..self.nxt).contains(&packet),
            "only what is outstanding is lost"
        );
        Some(packet)
    }

    /// A packet to be sent again, unless its message was given up, or has expired.
    pub(super) fn repeat(&mut self, packet: u64, now: Time) -> Option<Chunk> {
        let sent = &mut self.sent[(packet - self.una) as usize];
        sent.left_at = Time::NEVER;
        let sent = *sent;
        let given_up = sent.dropped || sent.payload.expires <= now;
        (!given_up).then(|| Chunk {
            number: self.numbering.wire(packet),
            payload: sent.payload,
            retransmission: true,
        })
    }

    /// Whether the message of a packet was given up.
    pub(super) fn is_given_up(&self, packet: u64) -> bool {
        self.sent[(packet - self.una) as usize].dropped
    }

    /// Gives up the message of a packet: the request that the peer drops it.
    pub(super) fn give_up(&mut self, packet: u64) -> Drop {
        assert!(
            (self.una..self.nxt).contains(&packet),
            "a packet in flight belongs to its message"
        );
        let index = (packet - self.una) as usize;
        let message = self.sent[index].payload.message;
        let same = |sent: &&Sent| sent.payload.message == message;
        let before = self.sent.range(..index).rev().take_while(same).count();
        let after = self.sent.range(index + 1..).take_while(same).count();
        for sent in self.sent.range_mut(index - before..=index + after) {
            sent.dropped = true;
        }
        let (first, last) = (packet - before as u64, packet + after as u64);
        for gone in first..=last {
            self.losses.remove(gone);
        }
        Drop {
            message,
            first: self.numbering.wire(first),
            last: self.numbering.wire(last),
        }
    }
}
