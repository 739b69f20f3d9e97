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

/** A message for a run that does not fit into a tab, with the keys that make it smaller. */
export function tooLarge(facts: Facts): string {
  const needed = (facts.bytes / 1e9).toFixed(1);
  return (
    `The records of this run need about ${needed} GB, too much for a page. ` +
    "Make run.duration shorter, measure less, or use fewer hosts. On the command line it may fit: incastle run FILE."
  );
}
