// What the engine calls: controllers of the page, by their numbers. crates/wasm/src/controllers.rs has the other side,
// and the order of the numbers in the arrays. An exception becomes its message, which the engine passes on.
import type { Ack, CongestionEvent, Connection, Controller, Moment } from "./controller";

export type Class = new (connection: Connection) => Controller;

/** The object that the engine expects under the name `incastle_controllers`. */
export interface Bridge {
  make(name: string, connection: string, answer: Float64Array): number;
  onSent(number: number, moment: Float64Array, bytes: number, answer: Float64Array): void;
  onAck(number: number, moment: Float64Array, ack: Float64Array, answer: Float64Array): void;
  onCongestion(
    number: number,
    moment: Float64Array,
    kind: string,
    event: Float64Array,
    answer: Float64Array,
  ): number;
  onTimer(number: number, moment: Float64Array, answer: Float64Array): void;
}

/** Where an exception began, in words that follow its message. */
type Where = (error: Error) => string;

/** The controllers of one run. */
export function bridge(classes: ReadonlyMap<string, Class>, where: Where): Bridge {
  const made: Controller[] = [];
  /** Calls a method, and writes window, rate and timer into `answer`. */
  function call<T>(number: number, answer: Float64Array, method: (one: Controller) => T): T {
    const one = made[number];
    if (!one) throw new Error(`there is no controller ${number}`);
    return inWords(where, () => {
      const value = method(one);
      answer[0] = given(one.window(), "window()");
      answer[1] = given(one.pacing?.(), "pacing()");
      answer[2] = given(one.next_timer?.(), "next_timer()");
      return value;
    });
  }
  return {
    make(name, connection, answer) {
      inWords(where, () => {
        const Named = classes.get(name);
        const names = [...classes.keys()].join(", ") || "none";
        if (!Named) throw new Error(`no class has the name ${name}; there are ${names}`);
        const fields = JSON.parse(connection) as Omit<Connection, "number">;
        made.push(new Named({ number: made.length, ...fields }));
      });
      call(made.length - 1, answer, () => undefined);
      return made.length - 1;
    },
    onSent(number, moment, bytes, answer) {
      call(number, answer, (one) => one.on_sent?.(momentOf(moment), bytes));
    },
    onAck(number, moment, ack, answer) {
      call(number, answer, (one) => {
        one.on_ack(ackOf(moment, ack));
      });
    },
    onCongestion(number, moment, kind, event, answer) {
      const said = call(number, answer, (one) => one.on_congestion(eventOf(moment, kind, event)));
      return typeof said === "boolean" ? Number(said) : NaN;
    },
    onTimer(number, moment, answer) {
      call(number, answer, (one) => one.on_timer?.(momentOf(moment)));
    },
  };
}

/** Runs a controller's code; what it throws reaches the engine as text. */
function inWords<T>(where: Where, code: () => T): T {
  try {
    return code();
  } catch (error) {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- the engine reads a string
    throw error instanceof Error ? `${error.name}: ${error.message}${where(error)}` : String(error);
  }
}

/** A number that a method gave; NaN is none to the engine. */
function given(value: number | null | undefined, method: string): number {
  if (value === null || value === undefined) return NaN;
  if (typeof value !== "number" || Number.isNaN(value)) {
    throw new Error(`${method} gave ${String(value)}; expected a number, or null`);
  }
  return value;
}

function orNull(value: number | undefined): number | null {
  return value === undefined || Number.isNaN(value) ? null : value;
}

function momentOf(moment: Float64Array): Moment {
  const [now_s = 0, snd_una = 0, snd_nxt = 0, in_flight_bytes = 0, smoothed, remaining, deadline] = moment;
  return {
    now_s,
    snd_una,
    snd_nxt,
    in_flight_bytes,
    smoothed_rtt_s: orNull(smoothed),
    remaining_bytes: orNull(remaining),
    deadline_s: orNull(deadline),
  };
}

function ackOf(moment: Float64Array, ack: Float64Array): Ack {
  const [acked_bytes = 0, segments = 0, echo, rtt, limited, recovery, timeout] = ack;
  return {
    ...momentOf(moment),
    acked_bytes,
    segments,
    ecn_echo: echo === 1,
    rtt_s: orNull(rtt),
    window_limited: limited === 1,
    in_recovery: recovery === 1,
    after_timeout: timeout === 1,
  };
}

function eventOf(moment: Float64Array, kind: string, event: Float64Array): CongestionEvent {
  const [lost_segments = 0, largest_lost = 0, backoff = 0] = event;
  return {
    ...momentOf(moment),
    kind: kind as CongestionEvent["kind"],
    lost_segments,
    largest_lost,
    backoff,
  };
}
