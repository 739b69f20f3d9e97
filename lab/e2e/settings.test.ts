// The gallery against the engine itself: every scenario, every choice and both ends of every slider are correct.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { EXPERIMENTS } from "../src/gallery/experiments";
import type { Experiment } from "../src/gallery/experiment";
import { settingOf } from "../src/gallery/values";
import type { Checked, Override } from "../src/worker/protocol";

const WASM = fileURLToPath(new URL("../src/engine/incastle_wasm_bg.wasm", import.meta.url));

async function checker(): Promise<(text: string, overrides: Override[]) => Checked> {
  const engine = await import("../src/engine/incastle_wasm.js");
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
