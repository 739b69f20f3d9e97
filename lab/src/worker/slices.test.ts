import { describe, expect, it } from "vitest";
import { SLICE_MS, Slices, instants } from "./slices";

/** A run of events at equal distances; each takes a microsecond of wall time. */
class Clockwork {
  wall_ms = 0;
  private event = 0;

  constructor(
    private readonly events: number,
    private readonly duration_s: number,
    /** Where the work is done; the rest of the run has no events. */
    private readonly done_s = duration_s,
  ) {}

  advance(until_s: number, events: number): number {
    let left = events;
    while (left > 0 && this.time() < Math.min(until_s, this.done_s)) {
      this.event += 1;
      left -= 1;
      this.wall_ms += 0.001;
    }
    this.wall_ms += 0.001;
    if (left > 0 && until_s >= this.duration_s) this.over = true;
    return Math.min(this.time(), until_s);
  }

  over = false;
  is_done = (): boolean => this.over;
  time = (): number => (this.event / this.events) * this.duration_s;
}

function through(
  run: Clockwork,
  duration_s: number,
  count: number,
): { reached: number[]; longest_ms: number } {
  const slices = new Slices(run, duration_s, count, () => run.wall_ms);
  const reached: number[] = [];
  let longest_ms = 0;
  for (let over = false; !over;) {
    const begin = run.wall_ms;
    if (begin > 10_000) throw new Error("the run does not end");
    over = slices.step((time) => reached.push(time));
    longest_ms = Math.max(longest_ms, run.wall_ms - begin);
  }
  return { reached, longest_ms };
}

describe("slices", () => {
  it("reach every instant once, in order", () => {
    const { reached } = through(new Clockwork(100_000, 1), 1, 50);
    expect(reached.length).toBe(50);
    reached.forEach((time, i) => {
      expect(time).toBeCloseTo((i + 1) / 50, 4);
    });
  });

  it("last about ten milliseconds", () => {
    const { longest_ms } = through(new Clockwork(2_000_000, 1), 1, 10);
    expect(longest_ms).toBeLessThan(2.5 * SLICE_MS);
  });

  it("go on to the end where the work is done before it", () => {
    const run = new Clockwork(10_000, 1, 0.31);
    const { reached } = through(run, 1, 100);
    expect(reached.length).toBeLessThan(40);
    expect(run.is_done()).toBe(true);
  });
});

it("a large network has fewer instants", () => {
  expect(instants(10)).toBe(200);
  expect(instants(4000)).toBe(50);
  expect(instants(1_000_000)).toBe(25);
});
