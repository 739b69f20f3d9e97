import { describe, expect, it } from "vitest";
import { csvOfLines } from "./csv";
import { decades, logarithmicTicks, ticks } from "./ticks";

describe("ticks", () => {
  it("are round", () => {
    expect(ticks(0, 0.2)).toHaveLength(5);
    expect(ticks(3, 17, 5)).toEqual([5, 10, 15]);
    expect(decades(0.002, 0.3)).toEqual([0.001, 0.01, 0.1, 1]);
  });
  it("are round on a logarithmic axis, as many as there is room for", () => {
    expect(logarithmicTicks(0.0002, 0.0011, 9)).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9, 10].map((digit) => expect.closeTo(digit * 1e-4, 9) as number),
    );
    expect(logarithmicTicks(0.0002, 0.0011, 5)).toEqual([
      expect.closeTo(2e-4, 9),
      expect.closeTo(5e-4, 9),
      expect.closeTo(1e-3, 9),
    ]);
    expect(logarithmicTicks(1e-6, 1, 3)).toEqual(
      [1e-6, 1e-3, 1].map((tick) => expect.closeTo(tick, 9) as number),
    );
    expect(logarithmicTicks(0.00021, 0.00029, 4).length).toBeGreaterThan(1);
  });
  it("of an empty range are its only value", () => {
    expect(ticks(1, 1)).toEqual([1]);
  });
});

it("CSV quotes what needs it", () => {
  const set = { lines: [{ name: 'a,"b"', x: [1], y: [2], maximum: 2 }], unit: "packets" as const };
  expect(csvOfLines(set, "time_s")).toBe('line,time_s,packets\r\n"a,""b""",1,2\r\n');
});
