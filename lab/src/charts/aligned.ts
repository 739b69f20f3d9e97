// uPlot wants one column of x for all lines.
import type { AlignedData } from "uplot";
import type { Line } from "./lines";

export function aligned(lines: readonly Line[]): AlignedData {
  const first = lines[0];
  if (!first) return [[]];
  const same = lines.every((line) => sameInstants(line, first));
  const instants = same ? Array.from(first.x) : union(lines);
  const x = withEnds(instants);
  if (same && x.length === instants.length) return [x, ...lines.map((line) => Array.from(line.y))];
  return [x, ...lines.map((line) => spread(line, x))];
}

/** With more instants than this a chart may draw straight lines between them: one across a pause would be a slope. */
const DENSE = 200;

/** A pause is longer than this part of all. */
const PAUSE = 1 / 200;

/** The instants, and one at the end of each pause, where lines still have their value. */
function withEnds(instants: number[]): number[] {
  const span = (instants[instants.length - 1] ?? 0) - (instants[0] ?? 0);
  if (instants.length <= DENSE) return instants;
  return instants.flatMap((instant, i) =>
    instant - (instants[i - 1] ?? instant) > span * PAUSE ? [instant - span * 1e-6, instant] : instant,
  );
}

/** Samples are taken at the same instants everywhere: number and ends tell. */
function sameInstants(line: Line, other: Line): boolean {
  const last = line.x.length - 1;
  return line.x.length === other.x.length && line.x[0] === other.x[0] && line.x[last] === other.x[last];
}

function union(lines: readonly Line[]): number[] {
  const all = new Set<number>();
  for (const line of lines) for (let i = 0; i < line.x.length; i += 1) all.add(line.x[i] ?? 0);
  return Array.from(Float64Array.from(all).sort());
}

/** A line keeps its value until its next sample. Before its first and after its last sample there is none. */
function spread(line: Line, x: readonly number[]): (number | undefined)[] {
  const last = line.x[line.x.length - 1] ?? -Infinity;
  let next = 0;
  let value: number | undefined;
  return x.map((instant) => {
    while (next < line.x.length && (line.x[next] ?? Infinity) <= instant) {
      value = line.y[next];
      next += 1;
    }
    return instant <= last ? value : undefined;
  });
}

/** Position of the last sample up to an instant: lines keep its value until the next one. None long after the last sample;
 *  shortly before the first sample, that one. */
export function heldAt(x: ArrayLike<number>, instant: number, near: number): number | null {
  const first = x[0];
  const last = x[x.length - 1];
  if (first === undefined || last === undefined) return null;
  if (instant < first - near || instant > last + near) return null;
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((x[middle] ?? Infinity) <= instant) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
