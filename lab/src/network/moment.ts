// The network at one instant: what each port does there.
import type { Recording } from "../runs/recording";

/** Use, marks and drops are those of this part of the run before the instant: long enough to be seen while it plays. */
const SEEN = 0.01;

export interface PortMoment {
  /** Rate over the rate of the link. */
  use: number;
  rate_bit_s: number;
  queuePackets: number;
  queueBytes: number;
  /** Shortly before the instant. */
  marks: number;
  drops: number;
  /** The part of that time for which PFC paused it. */
  paused: number;
  /** From the start of the run. */
  marksSoFar: number;
  dropsSoFar: number;
  pausedSoFar_s: number;
}

export function portMoment(recording: Recording, port: number, time_s: number): PortMoment {
  const { counts, picture } = recording;
  const to = counts.intervalAt(time_s);
  const from = Math.min(to - 1, counts.intervalAt(time_s - SEEN * picture.duration_s) - 1);
  const rate = recording.rate(port, from, to);
  return {
    use: rate / (picture.ports[port]?.rate_bit_s ?? Infinity),
    rate_bit_s: rate,
    queuePackets: recording.queues[port]?.secondAt(time_s) ?? 0,
    queueBytes: recording.queues[port]?.at(time_s) ?? 0,
    marks: counts.marksUntil(port, to) - counts.marksUntil(port, from),
    drops: counts.dropsUntil(port, to) - counts.dropsUntil(port, from),
    paused: pausedPart(recording, port, from, to),
    marksSoFar: counts.marksUntil(port, to),
    dropsSoFar: counts.dropsUntil(port, to),
    pausedSoFar_s: counts.pausedUntil(port, to),
  };
}

function pausedPart({ counts }: Recording, port: number, from: number, to: number): number {
  const span = (counts.times[to] ?? 0) - (counts.times[from] ?? 0);
  const paused = counts.pausedUntil(port, to) - counts.pausedUntil(port, from);
  return span > 0 ? Math.min(1, paused / span) : 0;
}
