// The exercises of the documentation, as the page shows them.
import { describe, expect, it } from "vitest";
import { EXERCISES, INTRODUCTION, piecesOf } from "./exercises";

function shown(words: string): string {
  return piecesOf(words)
    .map(({ text }) => text)
    .join("");
}

it("five exercises follow the lesson, with how to do them", () => {
  expect(EXERCISES.map(({ title }) => title)).toHaveLength(5);
  expect(EXERCISES[0]?.title).toBe("The least K");
  expect(shown(INTRODUCTION.flat().join(" "))).toContain("Hand in two things: the digest of the run");
});

describe.each(EXERCISES)("$title", ({ experiment, blocks }) => {
  it("begins with an experiment of the gallery", () => {
    expect(experiment).toBeDefined();
  });

  it("is shown without the marks of its source", () => {
    const text = shown(blocks.flat().join("\n"));
    expect(text).toContain("Hand in the digest of that run");
    expect(text).not.toMatch(/[*`\]]|^\d+\. |^#/m);
  });
});

it("marks become elements", () => {
  expect(piecesOf("Set *K* to `1`, **once**: [see](a.md).").filter(({ text }) => text !== "")).toEqual([
    { tag: "span", text: "Set " },
    { tag: "em", text: "K" },
    { tag: "span", text: " to " },
    { tag: "code", text: "1" },
    { tag: "span", text: ", " },
    { tag: "strong", text: "once" },
    { tag: "span", text: ": " },
    { tag: "span", text: "see" },
    { tag: "span", text: "." },
  ]);
});
