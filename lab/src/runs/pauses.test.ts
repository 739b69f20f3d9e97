import { tableFromArrays, tableToIPC } from "@uwdata/flechette";
import { expect, it } from "vitest";
import type { Outcome, Picture } from "../worker/protocol";
import { Pauses } from "./pauses";

const picture = { ports: [{ name: "a->b" }, { name: "b->a" }] } as unknown as Picture;

function outcome(columns?: Record<string, unknown[]>): Outcome {
  const arrow = columns && tableToIPC(tableFromArrays(columns), { format: "stream" });
  return {
    digest: "",
    totals: {},
    notes: [],
    tables: arrow ? { pause_record: arrow } : {},
    interrupted: false,
  };
}

it("pauses of a port, of which the last has no end", () => {
  const table = { port: ["b->a", "b->a"], begin_s: [1, 5], end_s: [2, null] };
  const pauses = Pauses.of(outcome(table), picture);
  expect([0.5, 1.5, 3, 5, 100].map((time) => pauses?.within(1, time, time))).toEqual([
    false,
    true,
    false,
    true,
    true,
  ]);
  expect(pauses?.within(1, 0, 1)).toBe(true);
  expect(pauses?.within(0, 0, 100)).toBe(false);
});

it("a run without pauses has none", () => {
  expect(Pauses.of(outcome(), picture)).toBeUndefined();
  expect(Pauses.of(outcome({ port: [], begin_s: [], end_s: [] }), picture)).toBeUndefined();
});
