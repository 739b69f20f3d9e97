// Which ports and flows the charts show: those that the user chose, or else the ports with the longest queues, and some
// flows of each group.
import { computed } from "@preact/signals";
import { recordingOf } from "../page/useSide";
import { chartedFlows, chartedPorts, shown, sides } from "../state/lab";
import type { SideName } from "../state/lab";
import type { Recording } from "../runs/recording";

/** More lines than this nobody tells apart. */
export const MOST_LINES = 6;

/** A port whose queue stays below this part of the longest one is not interesting. */
const INTERESTING = 0.1;

/** Indices of the charted ports, in the order of their colours: the picture asks for them in every frame. */
export function chartedIndices(side: SideName): readonly number[] {
  return charted[side].value;
}

const charted = { a: computed(() => portsOf("a")), b: computed(() => portsOf("b")) };

function portsOf(side: SideName): number[] {
  const recording = recordingOf(side);
  if (!recording) return [];
  const chosen = chartedPorts.value;
  if (!chosen) return longestQueues(comparable(recording));
  const { ports } = recording.picture;
  return chosen.flatMap((name) => {
    const port = ports.findIndex((other) => other.name === name);
    return port === -1 ? [] : [port];
  });
}

/** Greatest queues by port. Two runs of one network have the greater of both, so that their charts have the same ports in
 *  the same colours. */
function comparable(recording: Recording): number[] {
  const all = shown().flatMap((side) => recordingOf(side) ?? []);
  const alike = all.filter((other) => samePorts(other, recording));
  return recording.queues.map((_, port) =>
    Math.max(0, ...alike.map(({ queues }) => queues[port]?.maximum ?? 0)),
  );
}

function samePorts(one: Recording, other: Recording): boolean {
  const [ports, others] = [one.picture.ports, other.picture.ports];
  return ports.length === others.length && ports.every(({ name }, port) => name === others[port]?.name);
}

export function longestQueues(maxima: readonly number[], most = 4): number[] {
  const queues = maxima.map((longest, port) => ({ port, longest }));
  queues.sort((a, b) => b.longest - a.longest || a.port - b.port);
  const bound = (queues[0]?.longest ?? 0) * INTERESTING;
  const kept = queues.slice(0, most).filter(({ longest }, i) => i === 0 || longest > bound);
  return kept.map(({ port }) => port);
}

/** Adds a port to the charts, or takes it out. The first choice replaces what the page chose. */
export function toggleCharted(side: SideName, name: string): void {
  const before = chartedPorts.value ?? chartedIndices(side).map((port) => portName(side, port));
  chartedPorts.value = before.includes(name)
    ? before.filter((other) => other !== name)
    : [...before, name].slice(-MOST_LINES);
}

function portName(side: SideName, port: number): string {
  return sides[side].recording.value?.picture.ports[port]?.name ?? "";
}

/** Indices of the charted flows. */
export function chartedFlowIndices(recording: Recording): number[] {
  const chosen = chartedFlows.value;
  if (chosen) return chosen.map((name) => recording.flowNames.indexOf(name)).filter((flow) => flow !== -1);
  return someOfEachGroup(recording.flowNames, (flow) => lifetime(recording, flow));
}

/** How long a flow has had a window or a rate; undefined if it has none. */
function lifetime(recording: Recording, flow: number): number | undefined {
  const series = recording.windows.get(flow) ?? recording.rates.get(flow);
  return series && (series.time[series.length - 1] ?? 0) - (series.time[0] ?? 0);
}

/** In turn the flow of each group that comes next by age, until there are enough lines: long flows show most. */
export function someOfEachGroup(
  names: readonly string[],
  age: (flow: number) => number | undefined,
  most = MOST_LINES,
): number[] {
  const groups = new Map<string, number[]>();
  for (const { flow, group } of byAge(names, age)) {
    groups.set(group, [...(groups.get(group) ?? []), flow].slice(0, most));
  }
  const chosen: number[] = [];
  for (let turn = 0; turn < most; turn += 1) {
    for (const flows of groups.values()) {
      const flow = flows[turn];
      if (flow !== undefined && chosen.length < most) chosen.push(flow);
    }
  }
  return chosen.sort((a, b) => compare(names[a] ?? "", names[b] ?? ""));
}

/** The flows that have an age, the oldest first; of the same age in order of their index. */
function byAge(
  names: readonly string[],
  age: (flow: number) => number | undefined,
): { flow: number; group: string }[] {
  const flows = names.flatMap((name, flow) => {
    const lived = age(flow);
    return lived === undefined ? [] : [{ flow, group: groupOf(name), index: indexOf(name), age: lived }];
  });
  return flows.sort((a, b) => b.age - a.age || a.index - b.index);
}

/** Of "bulk:12" the group is "bulk", and the index 12. */
function groupOf(name: string): string {
  return name.slice(0, name.lastIndexOf(":"));
}

function indexOf(name: string): number {
  return Number(name.slice(name.lastIndexOf(":") + 1));
}

function compare(a: string, b: string): number {
  return groupOf(a).localeCompare(groupOf(b)) || indexOf(a) - indexOf(b);
}
