import { describe, expect, it } from "vitest";
import { Series } from "./series";

function filled(samples: number, limit: number): Series {
  const series = new Series(limit);
  for (let i = 0; i < samples; i += 1) series.add(i, i === 777 ? 1000 : i % 10, 2 * i);
  return series;
}

describe("a series", () => {
  it("keeps every sample below its limit", () => {
    const series = filled(500, 1024);
    expect(series.length).toBe(500);
    expect(series.at(123)).toBe(3);
    expect(series.secondAt(123)).toBe(246);
  });

  it("stays within its limit, and keeps the peak at its instant", () => {
    const series = filled(100_000, 256);
    expect(series.length).toBeLessThanOrEqual(256);
    expect(Math.max(...series.values())).toBe(1000);
    const peak = series.values().indexOf(1000);
    expect(series.times()[peak]).toBe(777);
  });

  it("keeps time in order after thinning", () => {
    const times = filled(10_000, 128).times();
    for (let i = 1; i < times.length; i += 1) expect(times[i]).toBeGreaterThanOrEqual(times[i - 1] ?? 0);
  });

  it("has the last value before an instant, and nothing before the first", () => {
    const series = new Series();
    series.add(1, 10);
    series.add(2, 20);
    expect([0.5, 1, 1.5, 2, 9].map((time) => series.at(time))).toEqual([0, 10, 10, 20, 20]);
  });
});
