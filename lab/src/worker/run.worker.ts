// The worker that simulates. It advances the run for about 10 ms at a time and reads its messages between the slices.
import init, { Run } from "../engine/incastle_wasm.js";
import { loadControllers } from "../control/load";
import type { Outcome as EngineOutcome, Samples } from "../engine/incastle_wasm.js";
import { explain, forget, keep, stopExplaining, want } from "./explain";
import type { Batch, Diagnostic, Outcome, Picture, RunReply, RunRequest } from "./protocol";
import { Slices, instants } from "./slices";

/** Batches are posted at most this often: a frame of the page. */
const POST_MS = 16;

type Start = Extract<RunRequest, { kind: "start" }>;

/** The newest run, and whether it has been asked to stop. */
let current = 0;
let stopped = false;

/** Runs wait for the engine, and for the end of the run before. */
let load: (module: WebAssembly.Module) => void;
let ready: Promise<unknown> = new Promise<WebAssembly.Module>((resolve) => (load = resolve)).then((module) =>
  init({ module_or_path: module }),
);

/** A macrotask that comes after the messages that wait; `setTimeout` would be slowed down to 4 ms. */
const pause = new MessageChannel();
let resume: () => void = () => undefined;
pause.port1.onmessage = () => {
  resume();
};

function messagesFirst(): Promise<void> {
  return new Promise((resolve) => {
    resume = resolve;
    pause.port2.postMessage(null);
  });
}

/** Kept from the start: code of controllers finds no way to the page. */
const postMessage = self.postMessage.bind(self);

function post(reply: RunReply, transfer: Transferable[] = []): void {
  postMessage(reply, { transfer });
}

self.onmessage = (event: MessageEvent<RunRequest>) => {
  const request = event.data;
  switch (request.kind) {
    case "load":
      load(request.module);
      break;
    case "stop":
      if (request.run === current) stopped = true;
      break;
    case "explain":
      want(request);
      ready = ready.then(() => explain(request, { post, messagesFirst }));
      break;
    case "stop-explaining":
      stopExplaining();
      break;
    case "start":
      current = request.run;
      stopped = false;
      stopExplaining();
      ready = ready.then(() => start(request));
      break;
  }
};

async function start(request: Start): Promise<void> {
  const { run, text, overrides, code } = request;
  try {
    if (current !== run) return;
    forget();
    if (code !== undefined) loadControllers(code);
    const engine = create(run, text, JSON.stringify(overrides));
    if (engine) await simulate(request, engine);
  } catch (error) {
    post({ kind: "failed", run, message: error instanceof Error ? error.message : String(error) });
  }
}

/** A bad scenario is no failure: its diagnostics go back. */
function create(run: number, text: string, overrides: string): Run | undefined {
  try {
    return new Run(text, overrides);
  } catch (error) {
    const diagnostics = error instanceof Error ? diagnosticsIn(error.message) : undefined;
    if (!diagnostics) throw error;
    post({ kind: "refused", run, diagnostics });
    return undefined;
  }
}

function diagnosticsIn(message: string): Diagnostic[] | undefined {
  try {
    const value: unknown = JSON.parse(message);
    return Array.isArray(value) ? (value as Diagnostic[]) : undefined;
  } catch {
    return undefined;
  }
}

async function simulate(request: Start, engine: Run): Promise<void> {
  const { run } = request;
  const begin = performance.now();
  const picture = JSON.parse(engine.picture()) as Picture;
  post({ kind: "picture", run, picture });
  const now = (): number => performance.now();
  const slices = new Slices(engine, picture.duration_s, instants(picture.ports.length), now);
  let batches: Batch[] = [];
  let posted = now();
  for (let over = false; !over && !stopped;) {
    over = slices.step((reached) => batches.push(batch(engine.samples(), reached)));
    if (over || now() - posted >= POST_MS) {
      post({ kind: "batches", run, batches }, batches.flatMap(buffers));
      batches = [];
      posted = now();
    }
    await messagesFirst();
    if (current !== run) {
      engine.free();
      return;
    }
  }
  const wall_s = (now() - begin) / 1000;
  const packet_hops = engine.packet_hops();
  const end = engine.finish();
  // A run that was stopped cannot be shown to be the same as another one.
  if (!end.interrupted) keep(request, end);
  const result = outcome(end);
  post({ kind: "done", run, outcome: result, wall_s, packet_hops }, tableBuffers(result));
}

function batch(samples: Samples, reached_s: number): Batch {
  const copied: Batch = {
    reached_s,
    queue_time_s: samples.queue_time_s,
    queue_port: samples.queue_port,
    queue_packets: samples.queue_packets,
    queue_bytes: samples.queue_bytes,
    window_time_s: samples.window_time_s,
    window_flow: samples.window_flow,
    window_bytes: samples.window_bytes,
    rate_bit_s: samples.rate_bit_s,
    flow_names: JSON.parse(samples.flow_names) as string[],
    port_bytes: samples.port_bytes,
    port_marks: samples.port_marks,
    port_drops: samples.port_drops,
    port_paused_s: samples.port_paused_s,
  };
  samples.free();
  return copied;
}

function buffers(one: Batch): Transferable[] {
  return Object.values(one).flatMap((column: unknown) =>
    ArrayBuffer.isView(column) ? [column.buffer as ArrayBuffer] : [],
  );
}

function outcome(end: EngineOutcome): Outcome {
  const names = JSON.parse(end.table_names) as string[];
  const result: Outcome = {
    digest: end.digest,
    totals: JSON.parse(end.totals) as Record<string, number>,
    notes: JSON.parse(end.notes) as string[],
    tables: Object.fromEntries(names.map((name) => [name, end.table(name)])),
    interrupted: end.interrupted,
  };
  end.free();
  return result;
}

function tableBuffers(result: Outcome): Transferable[] {
  return Object.values(result.tables).map((table) => table.buffer as ArrayBuffer);
}
