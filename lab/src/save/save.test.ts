import { describe, expect, it } from "vitest";
import { csvOfLines } from "./csv";
import { decades, ticks } from "./ticks";

describe("ticks", () => {
  it("are round", () => {
    expect(ticks(0, 0.2)).toHaveLength(5);
    expect(ticks(3, 17, 5)).toEqual([5, 10, 15]);
    expect(decades(0.002, 0.3)).toEqual([0.001, 0.01, 0.1, 1]);
  });
  it("of an empty range are its only value", () => {
    expect(ticks(1, 1)).toEqual([1]);
  });
});

it("CSV quotes what needs it", () => {
  const set = { lines: [{ name: 'a,"b"', x: [1], y: [2], maximum: 2 }], unit: "packets" as const };
  expect(csvOfLines(set, "time_s")).toBe('line,time_s,packets\r\n"a,""b""",1,2\r\n');
});
