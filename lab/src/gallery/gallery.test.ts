// The gallery against the engine itself: every scenario, every choice and both ends of every slider are correct.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Checked, Override } from "../worker/protocol";
import { EXPERIMENTS } from "./experiments";
import type { Experiment } from "./experiment";
import { chosenOption, positionOf, settingOf, tableOf } from "./values";

const WASM = fileURLToPath(new URL("../engine/incastle_wasm_bg.wasm", import.meta.url));
const built = existsSync(WASM);

async function checker(): Promise<(text: string, overrides: Override[]) => Checked> {
  const engine = await import("../engine/incastle_wasm.js");
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

describe.skipIf(!built)("the engine accepts", async () => {
  const check = built ? await checker() : undefined;
  it.each(EXPERIMENTS)("$id with each of its settings", (experiment) => {
    for (const settings of reachable(experiment)) {
      const { diagnostics } = check?.(experiment.text, Object.entries(settings)) ?? { diagnostics: [] };
      const errors = diagnostics.filter(({ severity }) => severity === "error");
      expect(errors, JSON.stringify(settings)).toEqual([]);
    }
  });
});

describe.each(EXPERIMENTS)("$id", ({ text, controls, sentences, questions, title }) => {
  const table = tableOf(text);

  it("has controls that start where its scenario is", () => {
    for (const control of controls) {
      if (control.kind === "slider") {
        const position = positionOf(control, {}, table);
        expect(position, control.key).toBeGreaterThanOrEqual(control.min);
        expect(position, control.key).toBeLessThanOrEqual(control.max);
      } else {
        expect(chosenOption(control, {}, table), control.label).toBe(control.options[0]);
      }
    }
  });

  it("is described in short sentences", () => {
    for (const sentence of [title, ...sentences, ...questions]) {
      expect(sentence.split(/\s+/).length, sentence).toBeLessThanOrEqual(25);
    }
  });
});

it("has twelve experiments or more", () => {
  expect(EXPERIMENTS.length).toBeGreaterThanOrEqual(12);
});
