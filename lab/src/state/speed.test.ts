import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Facts } from "../worker/protocol";

const HOPS = { packet_hops: 8e6 } as Facts;

describe("the speed of this machine", () => {
  beforeEach(() => {
    vi.resetModules();
    const kept = new Map<string, string>();
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    });
  });

  it("follows its runs, and is remembered", async () => {
    const first = await import("./speed");
    expect(first.expected_s(HOPS)).toBe(4);
    first.measure(6e6, 1);
    // Half of 2 and half of 6 million per second.
    expect(first.expected_s(HOPS)).toBe(2);
    vi.resetModules();
    const visit = await import("./speed");
    expect(visit.expected_s(HOPS)).toBe(2);
  });

  it("does not follow runs that are too short", async () => {
    const speed = await import("./speed");
    speed.measure(10, 0.05);
    speed.measure(0, 5);
    expect(speed.expected_s(HOPS)).toBe(4);
  });
});

it("the time left comes from the estimate, then from the progress", async () => {
  const { left_s } = await import("./speed");
  expect(left_s(0.01, 1, 10)).toBe(9);
  expect(left_s(0.01, 20, 10)).toBe(0);
  // A quarter took 2 s, so three more quarters take 6 s.
  expect(left_s(0.25, 2, 10)).toBe(6);
});
