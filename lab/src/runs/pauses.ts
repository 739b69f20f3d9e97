// Pauses of ports by PFC: from the table `pause_record`, which a run has at its end if its scenario measures pauses.
import { tableFromIPC } from "@uwdata/flechette";
import type { Outcome, Picture } from "../worker/protocol";

interface Intervals {
  begins: number[];
  ends: number[];
}

export class Pauses {
  private constructor(private readonly byPort: ReadonlyMap<number, Intervals>) {}

  /** Undefined without the table, or where nothing was paused. */
  static of(outcome: Outcome, picture: Picture): Pauses | undefined {
    const bytes = outcome.tables.pause_record;
    if (!bytes) return undefined;
    const table = tableFromIPC(bytes);
    const names = new Map(picture.ports.map(({ name }, port) => [name, port]));
    const [ports, begins, ends] = ["port", "begin_s", "end_s"].map((name) => table.getChild(name));
    const byPort = new Map<number, Intervals>();
    for (let row = 0; row < table.numRows; row += 1) {
      const port = names.get(String(ports?.at(row)));
      if (port !== undefined) add(byPort, port, begins?.at(row), ends?.at(row));
    }
    return byPort.size > 0 ? new Pauses(byPort) : undefined;
  }

  /** Whether a priority of a port was paused at any time in an interval. */
  within(port: number, from_s: number, to_s: number): boolean {
    const intervals = this.byPort.get(port);
    if (!intervals) return false;
    return intervals.begins.some((begin, i) => begin <= to_s && (intervals.ends[i] ?? Infinity) >= from_s);
  }
}

/** A pause that had not ended has no end. */
function add(byPort: Map<number, Intervals>, port: number, begin: unknown, end: unknown): void {
  const intervals = byPort.get(port) ?? { begins: [], ends: [] };
  byPort.set(port, intervals);
  intervals.begins.push(typeof begin === "number" ? begin : 0);
  intervals.ends.push(typeof end === "number" ? end : Infinity);
}
