// The gallery: controls that start where their scenarios are, short sentences.
import { describe, expect, it } from "vitest";
import { EXPERIMENTS } from "./experiments";
import { chosenOption, positionOf, tableOf } from "./values";

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
