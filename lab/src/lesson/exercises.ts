// The exercises that follow the lesson, from their page in the documentation, docs/exercises.md. What else Markdown has,
// that page does not use.
import page from "../../../docs/exercises.md?raw";
import type { Experiment } from "../gallery/experiment";
import { EXPERIMENTS } from "../gallery/experiments";

/** A paragraph, or the items of a numbered list. */
export type Block = string | readonly string[];

export interface Exercise {
  title: string;
  /** The experiment that it begins with. */
  experiment: Experiment | undefined;
  blocks: readonly Block[];
}

const [head = "", ...parts] = page.split(/^## \d+\. /m);

/** How all exercises are done, below the page's title. */
export const INTRODUCTION: readonly Block[] = blocksOf(head).slice(1);

export const EXERCISES: readonly Exercise[] = parts.map((part) => {
  const [title = "", ...blocks] = blocksOf(part);
  const experiment = EXPERIMENTS.find((one) => part.includes(`Experiment: *${one.title}*`));
  return { title: String(title), experiment, blocks };
});

function blocksOf(text: string): Block[] {
  return text
    .trim()
    .split(/\n{2,}/)
    .map((block) => {
      const items = block.split(/^\d+\. /m).map((lines) => lines.replace(/\s+/g, " ").trim());
      return items.length > 1 ? items.slice(1) : (items[0] ?? "");
    });
}

/** A piece of a paragraph. */
export interface Piece {
  tag: "strong" | "em" | "code" | "span";
  text: string;
}

const MARKED = /(\*\*.+?\*\*|\*.+?\*|`.+?`|\[.+?\]\(.+?\))/;

/** A paragraph without its marks. Links lead to other pages of the documentation, which the lab does not have. */
export function piecesOf(words: string): Piece[] {
  return words.split(MARKED).map((piece, i) => {
    if (i % 2 === 0) return { tag: "span", text: piece };
    if (piece.startsWith("**")) return { tag: "strong", text: piece.slice(2, -2) };
    if (piece.startsWith("*")) return { tag: "em", text: piece.slice(1, -1) };
    if (piece.startsWith("`")) return { tag: "code", text: piece.slice(1, -1) };
    return { tag: "span", text: piece.slice(1, piece.indexOf("]")) };
  });
}
