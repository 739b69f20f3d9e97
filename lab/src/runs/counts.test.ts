import { expect, it } from "vitest";
import type { Batch } from "../worker/protocol";
import { Counts } from "./counts";

function batch(reached_s: number, paused: number[]): Batch {
  const port = [0, 0];
  return {
    reached_s,
    port_bytes: port,
    port_marks: port,
    port_drops: port,
    port_paused_s: paused,
  } as unknown as Batch;
}

it("pauses are counted from the first one on", () => {
  const counts = new Counts(2);
  counts.add(batch(1, []));
  expect(counts.hasPauses()).toBe(false);
  counts.add(batch(2, [0, 0.5]));
  counts.add(batch(3, [0, 0.75]));
  expect(counts.hasPauses()).toBe(true);
  expect([0, 1, 2, 3].map((interval) => counts.pausedUntil(1, interval))).toEqual([0, 0, 0.5, 0.75]);
  expect(counts.pausedUntil(0, 3)).toBe(0);
});
