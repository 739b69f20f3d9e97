// The border between the page and the engine: what the engine's WebAssembly offers, and the messages between the page
// and its workers. A run worker simulates, a check worker reads scenarios while the first is busy.

/** A mistake of a scenario, or something that is surely not meant. */
export interface Diagnostic {
  severity: "error" | "warning";
  message: string;
  help?: string;
  /** The key that it is about, such as `switch.queue.kind`. */
  key: string;
  /** Line and column count from 1, in characters; both are 0 for an override. */
  line: number;
  column: number;
}

/** What the checker finds: diagnostics, and facts about a scenario that can run. */
export interface Checked {
  diagnostics: Diagnostic[];
  facts?: Facts;
}

export interface Facts {
  name: string;
  duration_s: number;
  seed: number;
  hosts: number;
  switches: number;
  /** Groups of flows. */
  groups: number;
  /** Memory that its records are expected to take, and the same by its purposes, in words. */
  bytes: number;
  memory: string;
  /** What makes the largest part of it smaller. */
  remedy: string;
  /** Packet-hops that it is expected to have: an upper estimate. */
  packet_hops: number;
}

/** The network of a run. Each link has two ports, one for each direction. */
export interface Picture {
  name: string;
  duration_s: number;
  nodes: PictureNode[];
  ports: PicturePort[];
}

export interface PictureNode {
  name: string;
  kind: "host" | "switch";
}

export interface PicturePort {
  name: string;
  from: number;
  to: number;
  rate_bit_s: number;
  delay_s: number;
}

/** A key and its value, as `incastle run --set key=value` takes them. */
export type Override = readonly [key: string, value: string];

/** What has been recorded since the last batch. Columns of one quantity have one length. */
export interface Batch {
  /** The instant reached, at which `port_*` are counted. */
  reached_s: number;
  queue_time_s: Float64Array;
  queue_port: Uint32Array;
  queue_packets: Uint32Array;
  queue_bytes: Float64Array;
  window_time_s: Float64Array;
  window_flow: Uint32Array;
  /** Congestion windows; NaN where a control has none. */
  window_bytes: Float64Array;
  /** Sending rates; NaN where a control has none. */
  rate_bit_s: Float64Array;
  /** Names of the flows that are new, in order of their index. */
  flow_names: string[];
  /** For each port, from the start of the run. */
  port_bytes: Float64Array;
  port_marks: Float64Array;
  port_drops: Float64Array;
  /** Seconds for which PFC has paused each port, from the start of the run; empty before the first pause. */
  port_paused_s: Float64Array;
}

/** The end of a run. Tables are Arrow IPC streams. */
export interface Outcome {
  digest: string;
  totals: Record<string, number>;
  notes: string[];
  tables: Record<string, Uint8Array>;
  interrupted: boolean;
}

/** Why a flow took its time, as `incastle explain` reports it. Instants are in picoseconds. */
export interface Explanation {
  name: string;
  flow: number;
  hosts: readonly [from: string, to: string];
  /** What is explained, its bytes, begin, end and state. */
  extent: string;
  headline: string;
  /** The parts of its completion time: part, time, share, the port with most of it. */
  path: { rows: readonly (readonly [string, string, string, string])[] };
  /** The causes behind each timeout. */
  chains: readonly { title: string; timer: { at: number; cause: string }; steps: readonly Step[] }[];
  /** Everything in order. */
  story: readonly Step[];
  /** Of both runs: the one explained, and the one with a record. */
  digest: string;
}

export interface Step {
  at: number;
  when: string;
  text: string;
}

/** Messages to the run worker. `run` counts the runs of the page, so that late answers are recognised. */
export type RunRequest =
  | { kind: "load"; module: WebAssembly.Module }
  | { kind: "start"; run: number; text: string; overrides: Override[]; code?: string | undefined }
  | { kind: "stop"; run: number }
  /** Explains a flow of the run, which is over: its number, GROUP:INDEX, GROUP for its slowest, or empty for the slowest. */
  | { kind: "explain"; run: number; request: number; flow: string }
  | { kind: "stop-explaining"; run: number };

export type RunReply =
  | { kind: "picture"; run: number; picture: Picture }
  | { kind: "batches"; run: number; batches: Batch[] }
  | { kind: "done"; run: number; outcome: Outcome; wall_s: number; packet_hops: number }
  | { kind: "refused"; run: number; diagnostics: Diagnostic[] }
  | { kind: "failed"; run: number; message: string }
  /** The part of the second run that is done. */
  | { kind: "explaining"; run: number; request: number; part: number }
  | { kind: "explained"; run: number; request: number; explanation: Explanation }
  | { kind: "unexplained"; run: number; request: number; message: string };

/** Messages to the check worker. */
export type CheckRequest =
  | { kind: "load"; module: WebAssembly.Module }
  | { kind: "check"; check: number; text: string; overrides: Override[] };

export type CheckReply =
  | { kind: "ready"; version: string; schema: string }
  | { kind: "checked"; check: number; checked: Checked }
  | { kind: "failed"; check: number; message: string };
