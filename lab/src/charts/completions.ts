// Flow completion times of a run, as their distribution by group and kind: from the table `transfers`.
import { tableFromIPC } from "@uwdata/flechette";
import type { Outcome } from "../worker/protocol";
import { MOST_LINES } from "./charted";
import type { Line } from "./lines";

/** Points of a line; more are not seen. */
const MOST_POINTS = 500;

export function completionLines(outcome: Outcome): Line[] {
  const bytes = outcome.tables.transfers;
  if (!bytes) return [];
  const times = byKind(bytes);
  return [...times].slice(0, MOST_LINES).map(([name, all]) => distribution(name, all));
}

/** Completed transfers only; unfinished ones have no time. */
function byKind(bytes: Uint8Array): Map<string, number[]> {
  const table = tableFromIPC(bytes);
  const groups = table.getChild("group");
  const kinds = table.getChild("kind");
  const times = table.getChild("fct_s");
  const found = new Map<string, number[]>();
  for (let row = 0; row < table.numRows; row += 1) {
    const time: unknown = times.at(row);
    if (typeof time !== "number") continue;
    const name = nameOf(String(groups.at(row)), String(kinds.at(row)));
    const known = found.get(name);
    if (known) known.push(time);
    else found.set(name, [time]);
  }
  return found;
}

function nameOf(group: string, kind: string): string {
  return kind === "flow" ? group : `${group} (${kind}s)`;
}

/** The part of the transfers that took at most x seconds. */
export function distribution(name: string, times: number[]): Line {
  const sorted = Float64Array.from(times).sort();
  const points = Math.min(MOST_POINTS, sorted.length);
  const x: number[] = [];
  const y: number[] = [];
  for (let i = 1; i <= points; i += 1) {
    const index = Math.ceil((i * sorted.length) / points) - 1;
    x.push(sorted[index] ?? 0);
    y.push((index + 1) / sorted.length);
  }
  return { name, x, y, maximum: 1 };
}

/** The time within which a part of the transfers of a line was complete. */
export function percentile(line: Line, part: number): number {
  for (let i = 0; i < line.x.length; i += 1) {
    if ((line.y[i] ?? 0) >= part) return line.x[i] ?? 0;
  }
  return line.x[line.x.length - 1] ?? 0;
}
