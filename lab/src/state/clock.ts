// The clock of the page: moves the instant shown while the page plays, never beyond what has been simulated.
import { followZoom } from "./zoom";
import { duration_s, playing, reached_s, shown, sides, speed, time_s } from "./lab";

/** At speed 1 a run takes this long to watch. */
const WHOLE_RUN_S = 10;

/** A page in the background gets no frames; it must not jump when it comes back. */
const LONGEST_FRAME_S = 0.1;

let last: number | undefined;

export function startClock(): void {
  requestAnimationFrame(tick);
}

function tick(now_ms: number): void {
  requestAnimationFrame(tick);
  const frame_s = last === undefined ? 0 : Math.min(LONGEST_FRAME_S, (now_ms - last) / 1000);
  last = now_ms;
  if (!playing.value) return;
  const reached = reached_s();
  const next = time_s.value + (frame_s * speed.value * duration_s()) / WHOLE_RUN_S;
  time_s.value = Math.min(next, reached);
  followZoom();
  const over = shown().every((name) => sides[name].status.value.kind !== "running");
  if (over && reached > 0 && next >= reached) playing.value = false;
}

export function seek(to_s: number): void {
  playing.value = false;
  time_s.value = Math.max(0, Math.min(to_s, reached_s()));
}

/** Play goes on, or begins again at the end. */
export function togglePlay(): void {
  if (!playing.value && time_s.value >= reached_s()) time_s.value = 0;
  playing.value = !playing.value;
}
