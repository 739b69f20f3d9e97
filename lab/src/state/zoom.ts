// The part of the run that all charts over time show. It follows the instant shown while the page plays.
import { duration_s, time_s, zoom } from "./lab";

/** Each step shows a quarter, or four times as much. */
const STEP = 4;

/** Nothing is seen in less than this part of a run. */
const LEAST = 1e-5;

export function zoomIn(): void {
  const [from, to] = zoom.value ?? [0, duration_s()];
  const span = Math.max((to - from) / STEP, duration_s() * LEAST);
  zoom.value = around(time_s.value, span);
}

export function zoomOut(): void {
  if (!zoom.value) return;
  const [from, to] = zoom.value;
  const span = (to - from) * STEP;
  zoom.value = span >= duration_s() ? undefined : around(time_s.value, span);
}

/** Moves the part on when the instant shown leaves it. */
export function followZoom(): void {
  if (!zoom.value) return;
  const [from, to] = zoom.value;
  const now = time_s.value;
  if (now >= from && now <= to) return;
  const begin = Math.max(0, Math.min(now, duration_s() - (to - from)));
  zoom.value = [begin, begin + to - from];
}

function around(middle: number, span: number): [number, number] {
  const begin = Math.max(0, Math.min(middle - span / 2, duration_s() - span));
  return [begin, begin + span];
}
