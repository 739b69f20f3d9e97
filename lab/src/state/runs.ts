// Starts the runs: whenever scenario or settings change, the checker reads them, and a new run replaces the old one.
import { effect, signal } from "@preact/signals";
import { CheckClient } from "../worker/check-client";
import type { EngineFacts } from "../worker/check-client";
import type { Checked, Facts, Override } from "../worker/protocol";
import { NOT_ALLOWED, code, isAllowed, usesCode } from "./code";
import { comparing, notice, playing, reached_s, settings, sides, text, time_s } from "./lab";
import type { Settings, SideName } from "./lab";
import { overridesOf } from "./overrides";
import { MOST_BYTES, measurings, tooLarge } from "./measuring";
import type { Launch } from "./side";
import { expected_s } from "./speed";

/** A slider sends many values while it moves. */
const SETTLE_MS = 150;

const checker = new CheckClient();

/** Version and schema of the engine, once it is there. */
export const engine = signal<EngineFacts | undefined>(undefined);

/** What the checker says of run A's scenario, for the editor. */
export const checked = signal<Checked | undefined>(undefined);

const timers: Partial<Record<SideName, ReturnType<typeof setTimeout>>> = {};
const newest: Record<SideName, number> = { a: 0, b: 0 };

/** Runs follow scenario and settings from here on. */
export function followScenario(): void {
  checker.ready.then(
    (facts) => (engine.value = facts),
    (reason: unknown) => {
      notice.value = `The engine did not start (${String(reason)}). The lab needs a browser with WebAssembly: a current Firefox, Chrome, Edge or Safari.`;
    },
  );
  effect(() => {
    follow("a");
  });
  effect(() => {
    if (comparing.value) follow("b");
    else sides.b.close();
  });
}

/** A run whose scenario names controllers of the page follows their code, too. */
function follow(side: SideName): void {
  const set = settings[side].value;
  if (usesCode(text.value, set)) void [code.value, isAllowed.value];
  schedule(side, text.value, set);
}

function schedule(side: SideName, scenario: string, set: Settings): void {
  clearTimeout(timers[side]);
  newest[side] += 1;
  sides[side].outdate();
  const first = sides[side].recording.peek() === undefined;
  timers[side] = setTimeout(() => void begin(side, scenario, set), first ? 0 : SETTLE_MS);
}

/** Runs a side again as it is. */
export function again(side: SideName): void {
  void begin(side, text.value, settings[side].value);
}

async function begin(name: SideName, scenario: string, set: Settings): Promise<void> {
  const number = (newest[name] += 1);
  const side = sides[name];
  const overrides = overridesOf(set);
  try {
    const answer = await checker.check(scenario, overrides);
    if (number !== newest[name]) return;
    if (name === "a") checked.value = answer;
    if (!answer.facts) {
      side.refuse(answer.diagnostics.filter((found) => found.severity === "error"));
      return;
    }
    const needsCode = usesCode(scenario, set);
    if (needsCode && !isAllowed.value) {
      side.fail(NOT_ALLOWED);
      return;
    }
    const fitted = await fitting(scenario, overrides, answer.facts);
    if (number !== newest[name]) return;
    if (fitted.measured) {
      const run = { text: scenario, overrides, measured: fitted.measured };
      launch(name, {
        ...run,
        code: needsCode ? code.value : undefined,
        expected_s: expected_s(answer.facts),
      });
    } else side.fail(tooLarge(fitted.facts));
  } catch (error) {
    side.fail(error instanceof Error ? error.message : String(error));
  }
}

/** The most detailed measurements that fit into the memory of a tab; without any, what the least would take. */
async function fitting(
  scenario: string,
  overrides: Override[],
  facts: Facts,
): Promise<{ measured?: Override[]; facts: Facts }> {
  let least = facts;
  for (const measured of measurings(facts)) {
    const answer = await checker.check(scenario, [...overrides, ...measured]);
    if (answer.facts && answer.facts.bytes <= MOST_BYTES) return { measured, facts: answer.facts };
    least = answer.facts ?? least;
  }
  return { facts: least };
}

function launch(name: SideName, run: Launch): void {
  // A run that was watched to its end starts again from zero; an instant that somebody looks at stays, also that of a link.
  const seen = reached_s();
  if (seen > 0 && (playing.value || time_s.value >= seen)) {
    time_s.value = 0;
    playing.value = true;
  }
  sides[name].start(run);
}
