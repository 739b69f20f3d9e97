// Explanations in the run worker: it keeps what they need of the run that is over, and runs the scenario again with a
// record of one flow.
import { Run } from "../engine/incastle_wasm.js";
import type { Explainer, Outcome } from "../engine/incastle_wasm.js";
import type { Explanation, Override, Picture, RunReply, RunRequest } from "./protocol";
import { Slices } from "./slices";

/** The page shows progress in parts of this size. */
const PARTS = 100;

type Request = Extract<RunRequest, { kind: "explain" }>;
type Start = Extract<RunRequest, { kind: "start" }>;

/** The ways of the worker to the page. */
interface Worker {
  post: (reply: RunReply) => void;
  messagesFirst: () => Promise<void>;
}

let finished: { start: Start; explainer: Explainer } | undefined;

/** The request that waits for its answer; 0 for none. */
let wanted = 0;

/** Called at the end of a run, with its outcome. */
export function keep(start: Start, outcome: Outcome): void {
  forget();
  finished = { start, explainer: outcome.explainer() };
}

export function forget(): void {
  finished?.explainer.free();
  finished = undefined;
}

export function stopExplaining(): void {
  wanted = 0;
}

/** Called as soon as a request arrives, which may be before the one before it has ended. */
export function want(request: Request): void {
  wanted = request.request;
}

export async function explain(request: Request, worker: Worker): Promise<void> {
  const { run, request: number } = request;
  if (wanted !== number) return;
  try {
    const text = await explanation(request, worker);
    if (text === undefined) return;
    worker.post({ kind: "explained", run, request: number, explanation: JSON.parse(text) as Explanation });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (isDefect(error, message)) worker.post({ kind: "failed", run, message });
    else worker.post({ kind: "unexplained", run, request: number, message });
  }
}

/** After a panic or without memory the engine is of no more use. */
function isDefect(error: unknown, message: string): boolean {
  return error instanceof WebAssembly.RuntimeError || message.startsWith("a defect");
}

/** JSON; undefined if the page does not want it any more. */
async function explanation(request: Request, worker: Worker): Promise<string | undefined> {
  if (finished?.start.run !== request.run) throw new Error("the run is gone: press Run again first");
  const { start, explainer } = finished;
  // Where the record has no room for the queue pairs near the flow, it is that of the flow alone.
  for (const neighbours of [true, false]) {
    const more = JSON.parse(explainer.overrides(request.flow, neighbours)) as Override[];
    const engine = new Run(start.text, JSON.stringify([...start.overrides, ...more]));
    if (!(await advance(engine, request, worker))) return undefined;
    const outcome = engine.finish();
    try {
      const text = explainer.explain(outcome, request.flow, neighbours);
      if (text !== undefined) return text;
    } finally {
      outcome.free();
    }
  }
  return undefined;
}

/** Runs to the end, and returns true; false if the page does not want it any more. */
async function advance(engine: Run, { run, request }: Request, worker: Worker): Promise<boolean> {
  const { duration_s } = JSON.parse(engine.picture()) as Picture;
  const slices = new Slices(engine, duration_s, PARTS, () => performance.now());
  for (let over = false; !over;) {
    over = slices.step((reached) => {
      worker.post({ kind: "explaining", run, request, part: reached / duration_s });
    });
    await worker.messagesFirst();
    if (wanted !== request) {
      engine.free();
      return false;
    }
  }
  return true;
}
