// How a run is cut into slices: short enough that the worker can answer between them, and at instants that cut the run
// evenly, so that the use of links can be drawn over time.

/** Wall time of a slice. Stop and check wait for one slice at most. */
export const SLICE_MS = 10;

/** Instants of a run at which ports are counted, if the network is small. */
const MOST_INSTANTS = 200;
const FEWEST_INSTANTS = 25;

/** Counts kept for all ports and instants together. */
const MOST_COUNTS = 200_000;

/** The engine counts whole picoseconds, so the instant that it reaches can lie that far before the one asked for. */
const ROUNDING_S = 2e-12;

/** The part of a run that can be advanced; the engine's `Run` has it. */
export interface Advancing {
  advance(until_s: number, events: number): number;
  is_done(): boolean;
}

/** How many instants of a run have counts of the ports. */
export function instants(ports: number): number {
  const fitting = Math.floor(MOST_COUNTS / Math.max(1, ports));
  return Math.min(MOST_INSTANTS, Math.max(FEWEST_INSTANTS, fitting));
}

/** Advances a run slice by slice, and reports each instant that it reaches. */
export class Slices {
  private index = 1;
  private events = 2_000;
  private before_s = -1;
  private stands = false;
  private reported_s = 0;

  constructor(
    private readonly run: Advancing,
    private readonly duration_s: number,
    private readonly count: number,
    private readonly now: () => number,
  ) {}

  /** One slice. Calls `reached` at each instant; returns whether the run is over. */
  step(reached: (time_s: number) => void): boolean {
    const begin = this.now();
    while (this.now() - begin < SLICE_MS) {
      if (this.advance(reached)) return true;
    }
    return false;
  }

  private advance(reached: (time_s: number) => void): boolean {
    const until = this.next();
    const begin = this.now();
    const time = this.run.advance(until, this.events);
    const there = time >= until - ROUNDING_S;
    this.adapt(this.now() - begin, !there);
    this.stands = time === this.before_s;
    this.before_s = time;
    const over = this.run.is_done();
    if (there || over) {
      this.index += 1;
      if (time > this.reported_s) reached(time);
      this.reported_s = Math.max(time, this.reported_s);
    }
    return over;
  }

  /** Where time stands still, the work is done before the end of the run (`stop = "when-done"`): the end is next. */
  private next(): number {
    const last = this.stands || this.index >= this.count;
    return last ? this.duration_s : (this.duration_s * this.index) / this.count;
  }

  /** The number of events for about half a slice. A call that ended at its instant tells nothing about the number. */
  private adapt(took_ms: number, all_used: boolean): void {
    if (took_ms > SLICE_MS / 2) this.events = Math.max(500, Math.floor(this.events / 2));
    else if (all_used && took_ms < SLICE_MS / 4) this.events = Math.min(1_000_000, this.events * 2);
  }
}
