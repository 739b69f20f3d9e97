// The lesson: its steps fit the gallery, and each opens what it says.
import { beforeEach, describe, expect, it } from "vitest";
import { EXPERIMENTS } from "../gallery/experiments";
import { openFirst, comparing, experiment, settings, text } from "../state/lab";
import { closeLesson, keptStep, onStep, openStep, step } from "./lesson";
import { STEPS } from "./steps";

/** Keys that the controls of an experiment set. */
function keysOf(id: string): Set<string> {
  const controls = EXPERIMENTS.find((one) => one.id === id)?.controls ?? [];
  return new Set(
    controls.flatMap((control) =>
      control.kind === "slider" ? [control.key] : control.options.flatMap(({ set }) => Object.keys(set)),
    ),
  );
}

describe.each(STEPS)("$title", ({ experiment: id, a, b, look, question, answer, why }) => {
  it("sets keys that its experiment has controls for", () => {
    const keys = keysOf(id);
    for (const key of Object.keys({ ...a, ...b })) expect(keys, key).toContain(key);
  });

  it("speaks in short sentences", () => {
    const sentences = [...look, question, ...answer, ...why].flatMap((words) => words.split(/[.:?] /));
    for (const sentence of sentences) expect(sentence.split(/\s+/).length, sentence).toBeLessThanOrEqual(25);
  });
});

it("takes twenty minutes", () => {
  expect(STEPS.reduce((sum, { minutes }) => sum + minutes, 0)).toBe(20);
});

describe("the lesson", () => {
  beforeEach(() => {
    closeLesson();
    openFirst();
  });

  it("opens each step with its experiment and settings", () => {
    STEPS.forEach((one, index) => {
      openStep(index);
      expect(step.value).toBe(index);
      expect(experiment.value?.id).toBe(one.experiment);
      expect(text.value).toBe(experiment.value?.text);
      expect(settings.a.value).toEqual(one.a);
      expect(comparing.value).toBe(one.b !== undefined);
      if (one.b) expect(settings.b.value).toEqual(one.b);
    });
  });

  it("restores a step that somebody changed", () => {
    openStep(1);
    settings.b.value = {};
    comparing.value = false;
    openStep(1);
    expect(settings.b.value).toEqual(STEPS[1]?.b);
    expect(comparing.value).toBe(true);
  });

  it("stays where it is before its first step and after its last", () => {
    openStep(0);
    openStep(-1);
    expect(step.value).toBe(0);
    openStep(STEPS.length);
    expect(step.value).toBe(0);
  });

  it("is aside while another experiment is open", () => {
    expect(onStep.value).toBe(false);
    openStep(3);
    expect(onStep.value).toBe(true);
    openFirst();
    expect(onStep.value).toBe(false);
  });

  it("leaves the runs as they are when it is closed", () => {
    openStep(1);
    closeLesson();
    expect(step.value).toBeUndefined();
    expect(settings.b.value).toEqual(STEPS[1]?.b);
  });

  it("comes back at the step of the last visit", () => {
    expect(keptStep("3")).toBe(3);
    for (const nothing of [null, "", "-1", "1.5", "99", "soon"]) expect(keptStep(nothing)).toBeUndefined();
  });
});
