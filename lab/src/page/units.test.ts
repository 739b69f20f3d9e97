import { expect, it } from "vitest";
import {
  clock,
  counted,
  formatBytes,
  formatNumber,
  formatPercent,
  formatRate,
  formatTime,
  formatWait,
} from "./units";

it("times have a unit that fits", () => {
  expect([0, 1.5, 0.0123456, 4.2e-6, 3e-9].map(formatTime)).toEqual([
    "0 s",
    "1.5 s",
    "12.3 ms",
    "4.2 us",
    "3 ns",
  ]);
});

it("waits are whole, in units of the day", () => {
  expect([0.2, 99, 120, 7200, 1e6].map(formatWait)).toEqual(["1 s", "99 s", "2 min", "2 h", "12 days"]);
});

it("999.6 becomes the next unit, not 1000 of the smaller one", () => {
  expect(formatBytes(999.6)).toBe("1 KB");
  expect(formatRate(9.996e8)).toBe("1 Gbit/s");
});

it("counts and parts", () => {
  expect(counted(1, "packet")).toBe("1 packet");
  expect(counted(1234, "packet")).toBe("1,234 packets");
  expect(formatPercent(0.123456)).toBe("12.3 %");
  expect([0.41234, 14.25, 1234.5].map(formatNumber)).toEqual(["0.412", "14.3", "1,235"]);
});

it("a clock keeps its width", () => {
  expect([0, 0.05, 0.2].map((time) => clock(time, 0.2))).toEqual(["0.0 ms", "50.0 ms", "200.0 ms"]);
  // The run of a link has no duration before it begins.
  expect(clock(0.012, 0)).toBe("12.00 ms");
});
