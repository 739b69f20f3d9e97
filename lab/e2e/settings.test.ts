// The gallery against the engine itself: every scenario, every choice and both ends of every slider are correct.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EXPERIMENTS } from "../src/gallery/experiments";
import type { Experiment } from "../src/gallery/experiment";
import { settingOf } from "../src/gallery/values";
import type { Checked, Override } from "../src/worker/protocol";

const WASM = fileURLToPath(new URL("../src/engine/incastle_wasm_bg.wasm", import.meta.url));

const engine = await import("../src/engine/incastle_wasm.js");

async function checker(): Promise<(text: string, overrides: Override[]) => Checked> {
  await engine.default({ module_or_path: await WebAssembly.compile(readFileSync(WASM)) });
  return (text, overrides) => JSON.parse(engine.check(text, JSON.stringify(overrides))) as Checked;
}

/** Settings that a student can reach with one control. */
function reachable({ controls, other }: Experiment): Record<string, string>[] {
  const single = controls.flatMap((control) =>
    control.kind === "choice"
      ? control.options.map(({ set }) => set)
      : [control.min, control.max].map((end) => ({ [control.key]: settingOf(control, end) })),
  );
  return [{}, ...single, ...(other ? [other] : [])];
}

/** The estimate is an upper one, up to five times too large; a run with many repetitions may have a few more. */
const LEAST = 0.8;
const MOST = 5;

describe("the engine estimates", async () => {
  const check = await checker();
  it.each(EXPERIMENTS)("the packet-hops of $id", ({ text }) => {
    const { facts } = check(text, []);
    const run = new engine.Run(text, "[]");
    while (!run.is_done()) run.advance(facts?.duration_s ?? 0, 1_000_000);
    const ratio = (facts?.packet_hops ?? 0) / run.packet_hops();
    run.free();
    expect(ratio).toBeGreaterThan(LEAST);
    expect(ratio).toBeLessThan(MOST);
  });

  it("what takes the memory of a run, and the remedy", () => {
    const long = check(EXPERIMENTS[0]?.text ?? "", [
      ["run.duration", "10000 s"],
      ["measure.queue", '{ every = "1 ms", ports = "all" }'],
    ]);
    expect(long.facts?.memory).toMatch(/^\d.* GB for [\d,]+ samples of queues/);
    expect(long.facts?.remedy).toBe("a longer measure.queue.every, or fewer ports");
  });
});

describe("the engine accepts", async () => {
  const check = await checker();
  it.each(EXPERIMENTS)("$id with each of its settings", (experiment) => {
    for (const settings of reachable(experiment)) {
      const { diagnostics } = check(experiment.text, Object.entries(settings));
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      expect(errors, JSON.stringify(settings)).toEqual([]);
    }
  });
});
