// Shows an instant that an explanation names: in the picture, or in the charts where somebody is looking at them.
import { seek } from "../state/clock";
import type { SideName } from "../state/lab";
import { followZoom } from "../state/zoom";

const PS_PER_S = 1e12;

/** Moves to the picture only if neither it nor a chart shows the instant now. The keyboard stays at the instant. */
export function show(side: SideName, at: number): void {
  seek(at / PS_PER_S);
  followZoom();
  const run = document.getElementById(`run-${side}`);
  const showing = [...(run?.querySelectorAll(".canvas-box, .now") ?? [])];
  if (!showing.some(isInView)) run?.querySelector(".canvas-box")?.scrollIntoView({ block: "start" });
}

/** Whether all of it lies between the toolbar and the explanations. */
function isInView(element: Element): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  const [above, below] = [".toolbar", ".explanations"].map((part) =>
    document.querySelector(part)?.getBoundingClientRect(),
  );
  return top >= (above?.bottom ?? 0) && bottom <= (below?.top ?? innerHeight);
}
