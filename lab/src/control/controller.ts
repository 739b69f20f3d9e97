// The base of controllers that are written in the page. Methods and fields have the names of `incastle.Controller` in
// Python, and its reactions to loss, marks, timeouts and idleness: RFC 5681 and RFC 3168.

/** The parameters of a connection. */
export interface Connection {
  /** The controller's number in its run: each endpoint of each connection has one. */
  number: number;
  mss_bytes: number;
  initial_window_bytes: number;
  min_cwnd_bytes: number;
  /** The parameters that the scenario gives. */
  parameters: Record<string, number | string | boolean>;
}

/** The state of the transport at the instant of a call. */
export interface Moment {
  now_s: number;
  /** The first byte that is not acknowledged, counted from the start of the stream. */
  snd_una: number;
  /** The first byte that was never sent. */
  snd_nxt: number;
  in_flight_bytes: number;
  smoothed_rtt_s: number | null;
  remaining_bytes: number | null;
  deadline_s: number | null;
}

export interface Ack extends Moment {
  /** Newly acknowledged, cumulatively; 0 for a duplicate. */
  acked_bytes: number;
  segments: number;
  /** Whether it echoes a mark (ECE). */
  ecn_echo: boolean;
  /** The latest round-trip sample, if it gave one. */
  rtt_s: number | null;
  /** Whether the controller's window prevented the sender from sending more before it. */
  window_limited: boolean;
  in_recovery: boolean;
  after_timeout: boolean;
}

export interface CongestionEvent extends Moment {
  kind: "ecn" | "loss" | "timeout" | "idle" | "over";
  lost_segments: number;
  largest_lost: number;
  /** For a timeout: 0 for the first one of the same data, then 1, ... */
  backoff: number;
}

/** A controller of one endpoint of a connection: write `on_ack`, and override further methods as needed. */
export abstract class Controller {
  readonly mss_bytes: number;
  cwnd_bytes: number;
  ssthresh_bytes = Infinity;
  /** SND.NXT at the last reaction: what was sent before it is answered. */
  private answered = -1;

  constructor(readonly connection: Connection) {
    this.mss_bytes = connection.mss_bytes;
    this.cwnd_bytes = connection.initial_window_bytes;
  }

  abstract on_ack(ack: Ack): void;

  /** Returns whether this was an answer, by which CWR is set; null leaves that to the window and the rate. */
  on_congestion(event: CongestionEvent): boolean | null {
    if (event.kind === "idle") {
      // RFC 5681, section 4.1.
      this.cwnd_bytes = Math.min(this.cwnd_bytes, this.connection.initial_window_bytes);
      return false;
    }
    const half = Math.max(event.in_flight_bytes / 2, 2 * this.mss_bytes);
    if (event.kind === "timeout") {
      // RFC 5681, section 3.1: once for the same data, and then one segment.
      if (event.backoff === 0) this.ssthresh_bytes = half;
      this.cwnd_bytes = this.mss_bytes;
    } else if (event.snd_una <= this.answered - (event.kind === "loss" ? 1 : 0)) {
      return false;
    } else {
      // RFC 5681, section 3.2, and RFC 3168, section 6.1.2: once in a window of data.
      this.cwnd_bytes = this.ssthresh_bytes = half;
    }
    this.answered = event.snd_nxt;
    return true;
  }

  /** Bytes that may be outstanding; null is no limit. */
  window(): number | null {
    return this.cwnd_bytes;
  }

  /** Bits per second at which packets leave; null sends as the window allows. */
  pacing?(): number | null;
  /** A data packet left, new or again. */
  on_sent?(moment: Moment, size_bytes: number): void;
  /** The second at which the controller wants to be called; null is none. */
  next_timer?(): number | null;
  on_timer?(moment: Moment): void;
}
