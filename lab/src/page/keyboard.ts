// Keys that work wherever nothing else takes them: space plays, arrows step through the run.
import { seek, togglePlay } from "../state/clock";
import { duration_s, time_s, zoom } from "../state/lab";

/** An arrow moves by this part of what the charts show. */
const STEP = 1 / 100;

/** These have uses of their own for the keys. */
const TAKEN = "input, select, textarea, button, summary, [contenteditable], [role=tab], .editor-box";

export function followKeys(): void {
  document.addEventListener("keydown", (event) => {
    const free = event.target instanceof Element && !event.target.closest(TAKEN);
    if (!free || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === " ") togglePlay();
    else if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else return;
    event.preventDefault();
  });
}

function step(direction: number): void {
  const [from, to] = zoom.value ?? [0, duration_s()];
  seek(time_s.value + direction * (to - from) * STEP);
}
