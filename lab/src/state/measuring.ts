// What a run of the page records: about a thousand samples of each queue and each window, or fewer where they would take
// too much memory. Measuring changes no result, and no digest.
import type { Facts, Override } from "../worker/protocol";

/** Samples over the run, of queues and of windows: the first plan that fits is taken. */
const PLANS: readonly (readonly [queues: number, windows: number])[] = [
  [1000, 1000],
  [500, 200],
  [200, 0],
  [0, 0],
];

/** Records of a run may take this much; a tab has few gigabytes, and tables are copied for the page. */
export const MOST_BYTES = 400_000_000;

/** Overrides of each plan, the most detailed one first. */
export function measurings(facts: Facts): Override[][] {
  return PLANS.map(([queues, windows]) => [
    ["measure.queue", queues > 0 ? `{ every = "${interval(facts, queues)}", ports = "all" }` : "off"],
    ["measure.window", windows > 0 ? `{ every = "${interval(facts, windows)}", flows = "all" }` : "off"],
  ]);
}

/** The scenario language takes whole picoseconds. */
function interval({ duration_s }: Facts, samples: number): string {
  return `${Math.max(1, Math.round((duration_s / samples) * 1e12))} ps`;
}

/** A message for a run that does not fit into a tab: what takes the memory, and what to reduce. */
export function tooLarge({ memory, remedy }: Facts): string {
  return (
    `The records of this run take ${memory}: more than the ${MOST_BYTES / 1e6} MB that a page has for them. ` +
    `Reduce them: ${remedy}; or a shorter run.duration. On the command line it may fit: incastle run FILE.`
  );
}
