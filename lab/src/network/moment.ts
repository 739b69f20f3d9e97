// The network at one instant: what each port does there.
import type { Recording } from "../runs/recording";

export interface PortMoment {
  /** Rate over the rate of the link, at most 1: what a port accepts beyond it waits in the queue. */
  use: number;
  rate_bit_s: number;
  queuePackets: number;
  queueBytes: number;
  /** In the interval around the instant. */
  marks: number;
  drops: number;
  /** From the start of the run. */
  marksSoFar: number;
  dropsSoFar: number;
}

export function portMoment(recording: Recording, port: number, time_s: number): PortMoment {
  const { counts } = recording;
  const interval = counts.intervalAt(time_s);
  const rate = counts.rate(port, interval);
  const limit = recording.picture.ports[port]?.rate_bit_s ?? Infinity;
  return {
    use: Math.min(1, rate / limit),
    rate_bit_s: Math.min(rate, limit),
    queuePackets: recording.queues[port]?.secondAt(time_s) ?? 0,
    queueBytes: recording.queues[port]?.at(time_s) ?? 0,
    marks: counts.marksIn(port, interval),
    drops: counts.dropsIn(port, interval),
    marksSoFar: counts.marksUntil(port, interval),
    dropsSoFar: counts.dropsUntil(port, interval),
  };
}
