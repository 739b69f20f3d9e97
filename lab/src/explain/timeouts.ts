// Flows with retransmission timeouts, from the table `flows`.
import { tableFromIPC } from "@uwdata/flechette";
import type { Outcome } from "../worker/protocol";

export interface TimedOut {
  name: string;
  timeouts: number;
}

/** Those with most timeouts first; of equal ones that with the lower number. */
export function timedOut(outcome: Outcome, most: number): TimedOut[] {
  const bytes = outcome.tables.flows;
  if (!bytes) return [];
  const table = tableFromIPC(bytes);
  const [groups, indices, counts] = ["group", "index", "timeouts"].map((name) => table.getChild(name));
  const found: TimedOut[] = [];
  for (let row = 0; row < table.numRows; row += 1) {
    const timeouts = Number(counts?.at(row));
    if (timeouts > 0)
      found.push({ name: `${String(groups?.at(row))}:${String(indices?.at(row))}`, timeouts });
  }
  found.sort((a, b) => b.timeouts - a.timeouts);
  return found.slice(0, most);
}
