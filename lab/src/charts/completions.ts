// Flow completion times of a run, as their distribution by group and kind: from the table `transfers`.
import { tableFromIPC } from "@uwdata/flechette";
import type { Outcome } from "../worker/protocol";
import { MOST_LINES } from "./charted";
import type { Line } from "./lines";

/** Points of a line; more are not seen. */
const MOST_POINTS = 500;

/** The distribution over all transfers of a kind: where some are incomplete at the end, it ends below 1. */
export interface Completions extends Line {
  complete: number;
  all: number;
}

/** Times of those that are complete, and how many there are in all. */
interface Transfers {
  times: number[];
  all: number;
}

export function completionLines(outcome: Outcome): Completions[] {
  const bytes = outcome.tables.transfers;
  if (!bytes) return [];
  const found = [...byKind(bytes)].filter(([, { times }]) => times.length > 0);
  return found.slice(0, MOST_LINES).map(([name, { times, all }]) => distribution(name, times, all));
}

function byKind(bytes: Uint8Array): Map<string, Transfers> {
  const table = tableFromIPC(bytes);
  const groups = table.getChild("group");
  const kinds = table.getChild("kind");
  const times = table.getChild("fct_s");
  const found = new Map<string, Transfers>();
  for (let row = 0; row < table.numRows; row += 1) {
    const name = nameOf(String(groups.at(row)), String(kinds.at(row)));
    const known = found.get(name) ?? { times: [], all: 0 };
    found.set(name, known);
    known.all += 1;
    const time: unknown = times.at(row);
    if (typeof time === "number") known.times.push(time);
  }
  return found;
}

function nameOf(group: string, kind: string): string {
  return kind === "flow" ? group : `${group} (${kind}s)`;
}

/** The part of all transfers that took at most x seconds. */
export function distribution(name: string, times: number[], all: number): Completions {
  const sorted = Float64Array.from(times).sort();
  const points = Math.min(MOST_POINTS, sorted.length);
  const x: number[] = [];
  const y: number[] = [];
  for (let i = 1; i <= points; i += 1) {
    const index = Math.ceil((i * sorted.length) / points) - 1;
    x.push(sorted[index] ?? 0);
    y.push((index + 1) / all);
  }
  return { name, x, y, maximum: 1, complete: sorted.length, all };
}

/** The time within which a part of those transfers of a line was complete that were complete at the end. */
export function percentile({ x, y, complete, all }: Completions, part: number): number {
  for (let i = 0; i < x.length; i += 1) {
    if ((y[i] ?? 0) * all >= part * complete) return x[i] ?? 0;
  }
  return x[x.length - 1] ?? 0;
}
