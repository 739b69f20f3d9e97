// The lesson on the page: the step shown, kept over a reload, and the opening of its experiment with its settings.
import { batch, computed, signal } from "@preact/signals";
import { EXPERIMENTS } from "../gallery/experiments";
import { openExperiment } from "../link/keeping";
import { comparing, experiment, settings } from "../state/lab";
import { store, stored } from "../state/storage";
import { STEPS } from "./steps";

const KEY = "lesson";

/** Index of the step shown; undefined while the lesson is closed. */
export const step = signal<number | undefined>(keptStep(stored(KEY)));

/** The step of the last visit. */
export function keptStep(kept: string | null): number | undefined {
  const index = kept === null || kept === "" ? -1 : Number(kept);
  return Number.isInteger(index) && STEPS[index] ? index : undefined;
}

/** Whether the experiment of the step is open: a link, or the list of experiments, may have opened another. */
export const onStep = computed(
  () => step.value !== undefined && STEPS[step.value]?.experiment === experiment.value?.id,
);

/** Opens a step, with its runs as they are at its beginning. */
export function openStep(index: number): void {
  const next = STEPS[index];
  const chosen = EXPERIMENTS.find(({ id }) => id === next?.experiment);
  if (!next || !chosen) return;
  batch(() => {
    openExperiment(chosen);
    settings.a.value = next.a;
    if (next.b) settings.b.value = next.b;
    comparing.value = next.b !== undefined;
    step.value = index;
  });
  store(KEY, String(index));
}

/** The runs stay as they are. */
export function closeLesson(): void {
  step.value = undefined;
  store(KEY, "");
}
