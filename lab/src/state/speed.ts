// How fast this machine simulates, measured on its own runs, and how long a run will take from that.
import type { Facts } from "../worker/protocol";
import { store, stored } from "./storage";

/** Packet-hops per second before anything is measured. */
const BEFORE = 2e6;

/** Shorter runs measure the start of the engine more than its speed. */
const SHORTEST_S = 0.1;

/** The weight of the newest run: other programs make a machine slower for a while. */
const NEWEST = 0.5;

let speed = positive(Number(stored("speed"))) ?? BEFORE;

function positive(value: number): number | undefined {
  return value > 0 && Number.isFinite(value) ? value : undefined;
}

/** A run is over: it shows the speed. */
export function measure(packet_hops: number, wall_s: number): void {
  if (wall_s < SHORTEST_S || packet_hops <= 0) return;
  speed = NEWEST * (packet_hops / wall_s) + (1 - NEWEST) * speed;
  store("speed", String(Math.round(speed)));
}

/** Seconds that a run will take, at most: the engine's estimate of packet-hops is an upper one. */
export function expected_s({ packet_hops }: Facts): number {
  return packet_hops / speed;
}

/** Below this part of a run its own progress tells less than the estimate. */
const TELLING = 0.05;

/** Seconds that a run still takes: from its progress, or before that from the estimate. */
export function left_s(part: number, elapsed_s: number, estimate_s: number): number {
  if (part >= TELLING) return (elapsed_s * (1 - part)) / part;
  return Math.max(0, estimate_s - elapsed_s);
}
