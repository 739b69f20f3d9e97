// Samples of a quantity over time, in bounded memory. Once the limit is reached, samples are kept in buckets, of which the
// least and the greatest remain: no peak is lost.

const FIRST_SPACE = 128;

/** Points of a bucket: its minimum and its maximum. */
const POINTS = 2;

export class Series {
  time = new Float64Array(FIRST_SPACE);
  /** The quantity, and a second one of the same instants (a queue's packets and bytes). */
  value = new Float32Array(FIRST_SPACE);
  second = new Float32Array(FIRST_SPACE);
  length = 0;
  maximum = 0;

  private samplesPerBucket = 1;
  private pending: [time: number, value: number, second: number][] = [];

  constructor(private readonly limit = 4096) {}

  add(time: number, value: number, second = 0): void {
    if (value > this.maximum) this.maximum = value;
    if (this.samplesPerBucket === 1) {
      this.append(time, value, second);
      return;
    }
    this.pending.push([time, value, second]);
    if (this.pending.length >= this.samplesPerBucket) this.flush();
  }

  /** Index of the last sample at or before an instant, or -1. */
  indexAt(time: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.time[middle] ?? Infinity) <= time) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The quantity at an instant; 0 before the first sample. */
  at(time: number): number {
    return this.value[this.indexAt(time)] ?? 0;
  }

  secondAt(time: number): number {
    return this.second[this.indexAt(time)] ?? 0;
  }

  times(): Float64Array {
    return this.time.subarray(0, this.length);
  }

  values(): Float32Array {
    return this.value.subarray(0, this.length);
  }

  seconds(): Float32Array {
    return this.second.subarray(0, this.length);
  }

  private flush(): void {
    let least = 0;
    let greatest = 0;
    this.pending.forEach(([, value], i) => {
      if (value < (this.pending[least]?.[1] ?? 0)) least = i;
      if (value >= (this.pending[greatest]?.[1] ?? 0)) greatest = i;
    });
    for (const i of [Math.min(least, greatest), Math.max(least, greatest)]) {
      const point = this.pending[i];
      if (point) this.append(...point);
    }
    this.pending = [];
  }

  private append(time: number, value: number, second: number): void {
    if (this.length >= this.limit) this.thin();
    if (this.length === this.time.length) this.grow();
    this.time[this.length] = time;
    this.value[this.length] = value;
    this.second[this.length] = second;
    this.length += 1;
  }

  private grow(): void {
    const space = Math.min(this.limit, this.time.length * 2);
    this.time = enlarged(this.time, new Float64Array(space));
    this.value = enlarged(this.value, new Float32Array(space));
    this.second = enlarged(this.second, new Float32Array(space));
  }

  /** Halves the points: of four in a row, the least and the greatest remain. */
  private thin(): void {
    let kept = 0;
    for (let start = 0; start < this.length; start += 2 * POINTS) {
      const [first, last] = this.extremes(start, Math.min(this.length, start + 2 * POINTS));
      this.move(first, kept);
      this.move(last, kept + 1);
      kept += POINTS;
    }
    this.length = kept;
    this.samplesPerBucket = this.samplesPerBucket === 1 ? 2 * POINTS : this.samplesPerBucket * 2;
  }

  /** Positions of the least and the greatest point, in order of time. */
  private extremes(start: number, end: number): [number, number] {
    let least = start;
    let greatest = start;
    for (let i = start; i < end; i += 1) {
      const value = this.value[i] ?? 0;
      if (value < (this.value[least] ?? 0)) least = i;
      if (value >= (this.value[greatest] ?? 0)) greatest = i;
    }
    return least < greatest ? [least, greatest] : [greatest, least];
  }

  private move(from: number, to: number): void {
    this.time[to] = this.time[from] ?? 0;
    this.value[to] = this.value[from] ?? 0;
    this.second[to] = this.second[from] ?? 0;
  }
}

function enlarged<Column extends Float64Array | Float32Array>(old: Column, space: Column): Column {
  space.set(old);
  return space;
}
