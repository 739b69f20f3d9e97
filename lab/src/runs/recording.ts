// All that a run has sent: the network, queues by port, windows by flow, counts of the ports. It grows while the run goes
// on, in bounded memory, and is read at any instant.
import type { Batch, Picture } from "../worker/protocol";
import { Counts } from "./counts";
import { Series } from "./series";

/** Samples kept for all ports together, and for all flows together. */
const MOST_SAMPLES = 3_000_000;
const MOST_PER_SERIES = 4096;
const FEWEST_PER_SERIES = 64;

/** Flows whose windows are kept. Nobody looks at more, and a run can have a million. */
const MOST_FLOWS = 512;

export class Recording {
  readonly counts: Counts;
  readonly queues: Series[];
  /** By flow; absent for a flow whose control has none. */
  readonly windows = new Map<number, Series>();
  readonly rates = new Map<number, Series>();
  readonly flowNames: string[] = [];
  reached_s = 0;

  constructor(readonly picture: Picture) {
    this.counts = new Counts(picture.ports.length);
    const fitting = Math.floor(MOST_SAMPLES / Math.max(1, picture.ports.length));
    const limit = Math.min(MOST_PER_SERIES, Math.max(FEWEST_PER_SERIES, fitting));
    this.queues = picture.ports.map(() => new Series(limit));
  }

  add(batch: Batch): void {
    this.flowNames.push(...batch.flow_names);
    this.addQueues(batch);
    this.addWindows(batch);
    this.counts.add(batch);
    this.reached_s = batch.reached_s;
  }

  /** The greatest queue of any port so far, in bytes. */
  greatestQueue(): number {
    return this.queues.reduce((greatest, queue) => Math.max(greatest, queue.maximum), 0);
  }

  /** Bits per second that a port sent between two instants that were counted: what it accepted, less what its queue grew. */
  rate(port: number, from: number, to: number): number {
    const { times } = this.counts;
    const [begin, end] = [times[from] ?? 0, times[to] ?? 0];
    if (end <= begin) return 0;
    const accepted = this.counts.bytesUntil(port, to) - this.counts.bytesUntil(port, from);
    const queue = this.queues[port];
    const grown = queue ? queue.at(end) - queue.at(begin) : 0;
    const limit = this.picture.ports[port]?.rate_bit_s ?? Infinity;
    // Samples of queues and counts can be a packet apart, and the queues of hosts are not sampled.
    return Math.max(0, Math.min(limit, (8 * (accepted - grown)) / (end - begin)));
  }

  private addQueues(batch: Batch): void {
    batch.queue_port.forEach((port, i) => {
      this.queues[port]?.add(
        batch.queue_time_s[i] ?? 0,
        batch.queue_bytes[i] ?? 0,
        batch.queue_packets[i] ?? 0,
      );
    });
  }

  private addWindows(batch: Batch): void {
    batch.window_flow.forEach((flow, i) => {
      if (flow >= MOST_FLOWS) return;
      const time = batch.window_time_s[i] ?? 0;
      addTo(this.windows, flow, time, batch.window_bytes[i] ?? NaN);
      addTo(this.rates, flow, time, batch.rate_bit_s[i] ?? NaN);
    });
  }
}

function addTo(all: Map<number, Series>, flow: number, time: number, value: number): void {
  if (Number.isNaN(value)) return;
  let series = all.get(flow);
  if (!series) {
    series = new Series();
    all.set(flow, series);
  }
  series.add(time, value);
}
