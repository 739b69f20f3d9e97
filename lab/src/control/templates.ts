// Controllers to begin with: each is short, works, and can be changed line by line.

export interface Template {
  title: string;
  source: string;
}

export const TEMPLATES: readonly Template[] = [
  {
    title: "Window laws, one expression each",
    source: `// A window law: what an ACK without a mark does to the window, and what one with a mark does, once per round trip.
const onAck = (cwnd, mss, acked) => cwnd + (mss * acked) / cwnd;
const onMark = (cwnd, mss) => cwnd / 2;

class Mine extends Controller {
  on_ack(ack) {
    if (ack.ecn_echo || ack.in_recovery || !ack.window_limited) return;
    this.cwnd_bytes = onAck(this.cwnd_bytes, this.mss_bytes, ack.acked_bytes);
  }

  on_congestion(event) {
    const before = this.cwnd_bytes;
    const answered = super.on_congestion(event);
    if (answered && event.kind === "ecn") {
      this.cwnd_bytes = Math.max(onMark(before, this.mss_bytes), this.mss_bytes);
    }
    return answered;
  }
}
`,
  },
  {
    title: "DCTCP in a few lines",
    source: `// DCTCP (RFC 8257): the window shrinks in proportion to the fraction of bytes that were marked.
class Mine extends Controller {
  alpha = 1;
  acked = 0;
  marked = 0;
  end = 0;

  on_ack(ack) {
    this.acked += ack.acked_bytes;
    if (ack.ecn_echo) this.marked += ack.acked_bytes;
    if (ack.snd_una > this.end) {
      // Section 3.3: once per window of data.
      const fraction = this.acked > 0 ? this.marked / this.acked : 0;
      this.alpha += (fraction - this.alpha) / 16;
      this.acked = this.marked = 0;
      this.end = ack.snd_nxt;
    }
    if (ack.in_recovery || !ack.window_limited) return;
    const slow_start = this.cwnd_bytes < this.ssthresh_bytes;
    this.cwnd_bytes += slow_start ? ack.acked_bytes : (this.mss_bytes * ack.acked_bytes) / this.cwnd_bytes;
  }

  on_congestion(event) {
    const before = this.cwnd_bytes;
    const answered = super.on_congestion(event);
    if (answered && event.kind === "ecn") {
      this.cwnd_bytes = this.ssthresh_bytes = Math.max(before * (1 - this.alpha / 2), this.mss_bytes);
    }
    return answered;
  }
}
`,
  },
  {
    title: "Round-trip time near a target",
    source: `// Without marks: below a target round-trip time the window grows, above it the window shrinks in proportion to the
// excess, at most once per round trip (after Swift, SIGCOMM 2020).
const TARGET_S = 500e-6;

class Mine extends Controller {
  last_decrease_s = -Infinity;

  on_ack(ack) {
    if (ack.rtt_s === null || ack.in_recovery) return;
    if (ack.rtt_s < TARGET_S) {
      if (ack.window_limited) this.cwnd_bytes += (this.mss_bytes * ack.acked_bytes) / this.cwnd_bytes;
    } else if (ack.now_s - this.last_decrease_s >= ack.rtt_s) {
      const excess = (ack.rtt_s - TARGET_S) / ack.rtt_s;
      this.cwnd_bytes = Math.max(this.cwnd_bytes * Math.max(1 - 0.8 * excess, 0.5), this.mss_bytes);
      this.last_decrease_s = ack.now_s;
    }
  }
}
`,
  },
  {
    title: "A rate instead of a window",
    source: `// A rate law: the pacing rate grows by a step per ACK, and falls by a share for each mark.
const STEP_BIT_S = 1e6;
const SHARE = 0.95;

class Mine extends Controller {
  rate_bit_s = 50e6;

  on_ack(ack) {
    this.rate_bit_s = ack.ecn_echo ? Math.max(this.rate_bit_s * SHARE, 1e6) : this.rate_bit_s + STEP_BIT_S;
  }

  pacing() {
    return this.rate_bit_s;
  }

  window() {
    return null; // no limit
  }
}
`,
  },
];
