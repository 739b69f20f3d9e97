// One of the runs that the page shows: A, or B next to it. It holds what its worker has sent so far.
import { signal } from "@preact/signals";
import { Recording } from "../runs/recording";
import type { Diagnostic, Explanation, Outcome, Override, RunReply } from "../worker/protocol";
import { RunClient } from "../worker/run-client";
import { measure } from "./speed";

const SHOW_MS = 100;

export type Status =
  | { kind: "waiting" }
  | { kind: "running"; began_ms: number; expected_s: number }
  | { kind: "done"; outcome: Outcome; wall_s: number; packet_hops: number }
  | { kind: "stopped" }
  | { kind: "refused"; diagnostics: Diagnostic[] }
  | { kind: "failed"; message: string };

/** The explanation of a flow. */
export type Explaining =
  | { kind: "none" }
  | { kind: "running"; part: number }
  | { kind: "done"; explanation: Explanation }
  | { kind: "failed"; message: string };

/** A run that begins. */
export interface Launch {
  text: string;
  overrides: Override[];
  /** What the page records, as further overrides. */
  measured: Override[];
  code: string | undefined;
  expected_s: number;
}

export class Side {
  readonly status = signal<Status>({ kind: "waiting" });
  readonly recording = signal<Recording | undefined>(undefined);
  /** Counts the batches of the recording, which grows in place. */
  readonly revision = signal(0);
  readonly explaining = signal<Explaining>({ kind: "none" });
  /** The settings that the run was started with. */
  overrides: Override[] = [];

  private due: ReturnType<typeof setTimeout> | undefined;

  private readonly client = new RunClient(
    (reply) => {
      this.hear(reply);
    },
    () => {
      this.status.value = { kind: "stopped" };
    },
  );

  start({ text, overrides, measured, code, expected_s }: Launch): void {
    this.overrides = overrides;
    this.explaining.value = { kind: "none" };
    this.status.value = { kind: "running", began_ms: performance.now(), expected_s };
    this.client.start(text, [...overrides, ...measured], code);
  }

  /** Scenario or settings have changed: the run is not theirs any more. Its picture stays until there is a new one. */
  outdate(): void {
    this.client.forget();
    this.explaining.value = { kind: "none" };
    this.status.value = { kind: "waiting" };
  }

  refuse(diagnostics: Diagnostic[]): void {
    this.status.value = { kind: "refused", diagnostics };
  }

  fail(message: string): void {
    this.status.value = { kind: "failed", message };
  }

  stop(): void {
    if (this.status.value.kind === "running") this.client.stop();
  }

  /** Whether the run is one whose flows can be explained. */
  get isWhole(): boolean {
    const status = this.status.value;
    return status.kind === "done" && !status.outcome.interrupted;
  }

  /** Explains a flow of the run, which is over; an empty name is the slowest. */
  explain(flow: string): void {
    this.explaining.value = { kind: "running", part: 0 };
    this.client.explain(flow);
  }

  stopExplaining(): void {
    this.client.stopExplaining();
    this.explaining.value = { kind: "none" };
  }

  /** Forgets the run, and frees its worker. */
  close(): void {
    this.client.end();
    this.explaining.value = { kind: "none" };
    this.status.value = { kind: "waiting" };
    this.recording.value = undefined;
  }

  /** Simulated time that can be shown. */
  get reached_s(): number {
    return this.recording.value?.reached_s ?? 0;
  }

  /** Charts are drawn anew a few times a second, which looks the same as sixty times. */
  private show(): void {
    if (this.due !== undefined) return;
    this.due = setTimeout(() => {
      this.due = undefined;
      this.revision.value += 1;
    }, SHOW_MS);
    if (this.revision.value === 0) this.revision.value = 1;
  }

  private hear(reply: RunReply): void {
    switch (reply.kind) {
      case "picture":
        this.recording.value = new Recording(reply.picture);
        break;
      case "batches":
        for (const batch of reply.batches) this.recording.value?.add(batch);
        this.show();
        break;
      case "done":
        this.revision.value += 1;
        measure(reply.packet_hops, reply.wall_s);
        this.status.value = reply;
        break;
      case "explaining":
        this.explaining.value = { kind: "running", part: reply.part };
        break;
      case "explained":
        this.explaining.value = { kind: "done", explanation: reply.explanation };
        break;
      case "unexplained":
        this.explaining.value = { kind: "failed", message: reply.message };
        break;
      case "refused":
        this.status.value = { kind: "refused", diagnostics: reply.diagnostics };
        break;
      case "failed":
        this.explaining.value = { kind: "none" };
        this.status.value = { kind: "failed", message: reply.message };
        break;
    }
  }
}
