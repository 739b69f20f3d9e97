import { describe, expect, it } from "vitest";
import { aligned } from "./aligned";
import { distribution, percentile } from "./completions";
import { Recording } from "../runs/recording";
import type { Batch } from "../worker/protocol";
import { rateLines, summary, windowLines } from "./lines";
import type { Line } from "./lines";

function line(x: number[], y: number[]): Line {
  return { name: "line", x, y, maximum: Math.max(...y) };
}

describe("aligned lines", () => {
  it("of the same instants are as they are", () => {
    expect(aligned([line([1, 2], [3, 4]), line([1, 2], [5, 6])])).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ]);
  });
  it("keep their value until their next sample, and end with their last", () => {
    expect(aligned([line([1, 3], [10, 30]), line([2, 4], [20, 40])])).toEqual([
      [1, 2, 3, 4],
      [10, 10, 30, undefined],
      [undefined, 20, 20, 40],
    ]);
  });
});

it("a pause between dense samples ends with the value before it", () => {
  // 300 samples in 3 s, and one more after 7 s without any.
  const times = [...Array.from({ length: 300 }, (_, i) => i / 100), 10];
  const [x, y] = aligned([
    line(
      times,
      times.map((time) => (time < 10 ? 5 : 9)),
    ),
  ]);
  expect(x).toHaveLength(302);
  expect([x[300], y?.[300]]).toEqual([expect.closeTo(10, 4), 5]);
  expect([x[301], y?.[301]]).toEqual([10, 9]);
});

describe("a distribution", () => {
  it("has the part of the transfers within each time", () => {
    const { x, y } = distribution("all", [3, 1, 2, 4], 4);
    expect([x, y]).toEqual([
      [1, 2, 3, 4],
      [0.25, 0.5, 0.75, 1],
    ]);
  });
  it("of many transfers is thinned, and keeps its end", () => {
    const all = distribution(
      "all",
      Array.from({ length: 100_000 }, (_, i) => i + 1),
      100_000,
    );
    expect(all.x.length).toBe(500);
    expect(percentile(all, 1)).toBe(100_000);
    expect(percentile(all, 0.5)).toBe(50_000);
  });
});

it("a distribution ends at the part that was complete", () => {
  const half = distribution("half", [2, 1], 4);
  expect([half.x, half.y]).toEqual([
    [1, 2],
    [0.25, 0.5],
  ]);
  // Of those that were complete.
  expect([percentile(half, 0.5), percentile(half, 0.99)]).toEqual([1, 2]);
});

it("a summary weighs values by the time they last", () => {
  // 10 for 3 s, then 20 for 1 s: (30 + 20) / 4.
  expect(summary(line([0, 3, 4], [10, 20, 0]))).toEqual({ mean: 12.5, maximum: 20, at: 3 });
});

it("rates begin with the run, and their mean has every interval", () => {
  const ports = [{ name: "a->b", from: 0, to: 1, rate_bit_s: 1e9, delay_s: 0 }];
  const recording = new Recording({ name: "run", duration_s: 4, nodes: [], ports });
  const nothing = { queue_port: [], window_flow: [], flow_names: [], port_marks: [], port_drops: [] };
  const sent = [100, 100, 300, 400];
  sent.forEach((bytes, i) => {
    recording.add({
      ...nothing,
      reached_s: i + 1,
      port_bytes: [bytes],
      port_paused_s: [],
    } as unknown as Batch);
  });
  const [only] = rateLines(recording, [0]).lines;
  expect([only?.x, only?.y]).toEqual([
    [0, 1, 2, 3, 4],
    [800, 0, 1600, 800, 800],
  ]);
  // 400 bytes in 4 s.
  expect(only && summary(only).mean).toBe(800);
});

describe("the chart of windows", () => {
  function ofFlow(window_bytes: number, rate_bit_s: number): string {
    const recording = new Recording({ name: "", duration_s: 1, nodes: [], ports: [] });
    recording.add({
      reached_s: 0.1,
      queue_port: [],
      window_flow: [0, 0],
      window_time_s: [0, 0.1],
      window_bytes: [window_bytes, window_bytes],
      rate_bit_s: [rate_bit_s, rate_bit_s],
      flow_names: ["bulk:0"],
    } as unknown as Batch);
    return windowLines(recording).unit;
  }

  it("has rates of controls that have rates alone", () => {
    expect(ofFlow(NaN, 1e9)).toBe("rate");
    expect(ofFlow(3000, 1e9)).toBe("bytes");
    expect(ofFlow(3000, NaN)).toBe("bytes");
  });

  it("is one of windows before there is a sample, as in a run that failed early", () => {
    expect(ofFlow(NaN, NaN)).toBe("bytes");
  });
});
