// Bytes, marks, drops and pauses of all ports at the instants of a run: the use of links over time comes from them.
import type { Batch } from "../worker/protocol";

export class Counts {
  readonly times: number[] = [0];
  private readonly bytes: Float64Array[];
  private readonly marks: Float64Array[];
  private readonly drops: Float64Array[];
  private readonly paused: Float64Array[];

  constructor(ports: number) {
    const nothing = new Float64Array(ports);
    this.bytes = [nothing];
    this.marks = [nothing];
    this.drops = [nothing];
    this.paused = [nothing];
  }

  add(batch: Batch): void {
    if (batch.reached_s <= (this.times.at(-1) ?? 0)) return;
    this.times.push(batch.reached_s);
    this.bytes.push(batch.port_bytes);
    this.marks.push(batch.port_marks);
    this.drops.push(batch.port_drops);
    this.paused.push(batch.port_paused_s);
  }

  /** The interval that an instant lies in, by its end. At least 1 once a batch is there. */
  intervalAt(time: number): number {
    let low = 1;
    let high = this.times.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle] ?? Infinity) < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Marks from the start of the run to the end of an interval. */
  marksUntil(port: number, interval: number): number {
    return this.marks[interval]?.[port] ?? 0;
  }

  dropsUntil(port: number, interval: number): number {
    return this.drops[interval]?.[port] ?? 0;
  }

  /** Seconds for which PFC has paused a port. */
  pausedUntil(port: number, interval: number): number {
    return this.paused[interval]?.[port] ?? 0;
  }

  /** Whether PFC has paused anything so far. */
  hasPauses(): boolean {
    return (this.paused.at(-1) ?? []).some((seconds) => seconds > 0);
  }

  bytesUntil(port: number, interval: number): number {
    return this.bytes[interval]?.[port] ?? 0;
  }
}
