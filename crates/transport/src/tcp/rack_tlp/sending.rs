//! The segments that leave with loss detection by time: probes (RFC 8985, section 7.3), lost segments, new
//! data. Leaves out: the other recoveries, which are in `sender`.

use incastle_congestion::{LimitedBy, Phase};
use incastle_recovery::{FRto, Record, Transmission};

use super::RackTlp;
use crate::tcp::config::Config;
use crate::tcp::io::{Io, SendWindow};
use crate::tcp::limit::Room;
use crate::tcp::sender::{Chunk, Sender};

/// A segment to be sent again.
fn again(record: &Record) -> Chunk {
    let Transmission { seq, octets, fin } = record.segment();
    Chunk {
        seq,
        len: (octets - u32::from(fin)) as u16,
        fin,
        retransmission: true,
    }
}

impl Sender {
    /// The next segment that may leave now.
    #[inline(never)]
    pub(in crate::tcp) fn poll_by_time(&mut self, io: &mut Io<'_>) -> Option<Chunk> {
        let sampled = || {
            Box::new(RackTlp::new(
                io.algorithm.samples_rate(),
                io.config.window_rule,
            ))
        };
        let rack = self.rack.get_or_insert_with(sampled);
        if rack.probe.due {
            return self.poll_probe(io.config);
        }
        let SendWindow { cwnd, limited_by } = io.window();
        let window = SendWindow {
            cwnd: rack.window(cwnd),
            limited_by,
        };
        if rack.flight.lost_segments() > 0 && !rack.f_rto.is_probing() {
            return self.poll_lost(window);
        }
        self.poll_new_by_time(io, window)
    }

    /// The first lost segment again.
    #[cold]
    fn poll_lost(&mut self, window: SendWindow) -> Option<Chunk> {
        let rack = self.rack.as_mut()?;
        let lost = rack.flight.next_lost()?;
        // No acknowledgement would come while nothing is in flight.
        let held = !rack.forced && rack.flight.pipe() > 0;
        if held && rack.flight.pipe() + lost.octets() > window.cwnd {
            self.stream.limit.set(window.limited_by);
            return None;
        }
        Some(again(&lost))
    }

    /// RFC 8985, section 7.3: a new segment if there is one that the peer takes, else the last again.
    #[cold]
    fn poll_probe(&mut self, config: &Config) -> Option<Chunk> {
        let nxt = self.space.nxt();
        let unsent = self.stream.payload_from(nxt, config.mss);
        let is_new = nxt < self.stream.end() && self.space.room_from(nxt) >= unsent.max(1);
        let new = is_new.then(|| self.chunk(nxt, nxt + unsent));
        let rack = self.rack.as_mut()?;
        let probe = new.or_else(|| rack.flight.last().map(again))?;
        rack.stats.tail_loss_probes += 1;
        Some(probe)
    }

    /// Never-sent data, or the FIN.
    #[inline]
    fn poll_new_by_time(&mut self, io: &mut Io<'_>, window: SendWindow) -> Option<Chunk> {
        let SendWindow { cwnd, limited_by } = window;
        let (nxt, una) = (self.space.nxt(), self.space.una());
        if nxt == self.stream.end() {
            self.stream.limit.set(LimitedBy::Application);
            return None;
        }
        if nxt == una && io.config.slow_start_after_idle {
            self.check_idle(io);
        }
        let calm = self.recovery.phase() == Phase::Open;
        let rack = self.rack.as_mut()?;
        // Reported data release new ones, as limited transmit does (RFC 3042) but for any number.
        let held = calm && !io.config.limited_transmit;
        let outstanding = if held { nxt - una } else { rack.flight.pipe() };
        let wanted = self.stream.payload_from(nxt, io.config.mss);
        let admitted = match rack.f_rto {
            FRto::Probing { segments } => segments > 0,
            FRto::Off | FRto::Repeated => outstanding + wanted <= cwnd,
        };
        let by_window = limited_by == LimitedBy::Window;
        if !admitted {
            rack.note_usage(una, nxt, by_window);
            self.stream.limit.set(limited_by);
            self.stream.burst.end();
            return None;
        }
        let gathers = io.config.burst > 1 && calm && rack.flight.sacked_segments() == 0;
        let len = self.fit_peer_window(io, wanted, nxt - una)?;
        if gathers {
            let free = cwnd.saturating_sub(outstanding);
            let room = Room {
                outstanding,
                free: free.min(self.space.room_from(nxt)),
                unsent: self.stream.written().saturating_sub(nxt),
            };
            if !self.stream.burst.may_leave(io.config, room) {
                self.stream.limit.set(limited_by);
                return None;
            }
        }
        let rack = self.rack.as_mut()?;
        rack.f_rto.take_segment();
        let full = by_window && outstanding + len + u64::from(io.config.mss) > cwnd;
        rack.note_usage(una, nxt + len, full);
        let flight = nxt - una;
        self.recovery
            .note_new_data((flight + len).saturating_sub(cwnd.max(flight)));
        let next = self.stream.payload_from(nxt + len, io.config.mss);
        if calm && outstanding + len + next > cwnd {
            // The limit that the next poll would find, set here for a comparison.
            self.stream.limit.set_full(limited_by);
            self.stream.burst.end();
        }
        Some(self.chunk(nxt, nxt + len))
    }

    /// A segment left.
    #[inline(never)]
    pub(in crate::tcp) fn sent_by_time(&mut self, io: &mut Io<'_>, chunk: &Chunk) {
        let open = self.recovery.phase() == Phase::Open;
        let (srtt, end) = (self.timer.rto().smoothed(), self.space.max());
        let Some(rack) = &mut self.rack else {
            return;
        };
        if rack.flight.is_empty() {
            // It has just started.
            rack.rto_at = self.timer.at();
            rack.progress_at = io.now;
        }
        let segment = Transmission {
            seq: chunk.seq,
            octets: u32::from(chunk.len) + u32::from(chunk.fin),
            fin: chunk.fin,
        };
        rack.flight.sent(segment, io.now);
        if let Some(prr) = &mut rack.prr {
            prr.on_sent(chunk.end() - chunk.seq);
        }
        if chunk.retransmission {
            rack.forced = false;
            if let Some(undo) = &mut rack.undo {
                undo.on_repeat();
            }
        }
        if rack.probe.due {
            rack.probe.on_sent(end, chunk.retransmission);
        } else if open && !chunk.retransmission {
            rack.schedule_probe(io, srtt);
        }
        self.choose_timer();
    }
}
