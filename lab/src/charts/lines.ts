// What the charts draw, taken from a recording: lines with a name, and the numbers that say in words what they show.
import type { Recording } from "../runs/recording";
import type { Series } from "../runs/series";
import { chartedFlowIndices } from "./charted";

export interface Line {
  name: string;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** Least and greatest value, for the scale that two runs share. */
  maximum: number;
}

export interface LineSet {
  lines: Line[];
  /** How values of this chart are written. */
  unit: "bytes" | "packets" | "rate" | "part";
}

/** Queues of ports in packets: what switches and students count in. */
export function queueLines(recording: Recording, ports: readonly number[]): LineSet {
  const lines = ports.flatMap((port) => {
    const queue = recording.queues[port];
    const name = recording.picture.ports[port]?.name ?? "";
    return queue ? [{ name, x: queue.times(), y: queue.seconds(), maximum: greatest(queue.seconds()) }] : [];
  });
  return { lines, unit: "packets" };
}

/** Congestion windows; sending rates if the controls have these alone. Without a sample it is not known yet. */
export function windowLines(recording: Recording): LineSet {
  const flows = chartedFlowIndices(recording);
  const rates =
    flows.some((flow) => recording.rates.has(flow)) && !flows.some((flow) => recording.windows.has(flow));
  const all = rates ? recording.rates : recording.windows;
  return { lines: flowLines(recording, all, flows), unit: rates ? "rate" : "bytes" };
}

function flowLines(recording: Recording, all: ReadonlyMap<number, Series>, flows: readonly number[]): Line[] {
  return flows.flatMap((flow) => {
    const series = all.get(flow);
    const name = recording.flowNames[flow] ?? "";
    return series ? [{ name, x: series.times(), y: series.values(), maximum: series.maximum }] : [];
  });
}

/** Points of a line of rates: with more of them single packets would make it jagged. */
const RATE_POINTS = 100;

/** Rates at which ports send, each from the begin of its interval on; the last one also stands at the end. */
export function rateLines(recording: Recording, ports: readonly number[]): LineSet {
  const { times } = recording.counts;
  const step = recording.picture.duration_s / RATE_POINTS;
  const instants: number[] = [0];
  times.forEach((time, i) => {
    if (time - (times[instants.at(-1) ?? 0] ?? 0) >= step * 0.999) instants.push(i);
  });
  const x = instants.length > 1 ? instants.map((instant) => times[instant] ?? 0) : [];
  const lines = ports.map((port) => {
    const rates = instants.slice(1).map((to, i) => recording.rate(port, instants[i] ?? 0, to));
    const y = [...rates, ...rates.slice(-1)];
    return { name: recording.picture.ports[port]?.name ?? "", x, y, maximum: greatest(y) };
  });
  return { lines, unit: "rate" };
}

export function greatest(values: ArrayLike<number>): number {
  let most = 0;
  for (let i = 0; i < values.length; i += 1) most = Math.max(most, values[i] ?? 0);
  return most;
}

/** Mean over time and maximum of a line, up to its last sample. */
export function summary(line: Line): { mean: number; maximum: number; at: number } {
  let area = 0;
  let at = 0;
  let maximum = -Infinity;
  for (let i = 0; i < line.x.length; i += 1) {
    const value = line.y[i] ?? 0;
    const time = line.x[i] ?? 0;
    if (value > maximum) [maximum, at] = [value, time];
    area += value * ((line.x[i + 1] ?? time) - time);
  }
  const span = (line.x[line.x.length - 1] ?? 0) - (line.x[0] ?? 0);
  return { mean: span > 0 ? area / span : 0, maximum: Math.max(0, maximum), at };
}
