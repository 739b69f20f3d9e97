// The page's side of a run worker: one run at a time, the newest one. A new start stops the one before.
import { engineModule } from "./engine-module";
import type { Override, RunReply, RunRequest } from "./protocol";
import RunWorker from "./run.worker?worker&inline";

/** A worker that has not stopped after this time is ended. */
const STOP_LIMIT_MS = 200;

export class RunClient {
  private worker: Worker | undefined;
  private run = 0;
  /** Counts the explanations that were asked for. */
  private request = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;

  /** `heard` gets the messages of the newest run only; `ended` is called when the worker had to be ended. */
  constructor(
    private readonly heard: (reply: RunReply) => void,
    private readonly ended: () => void,
  ) {}

  /** `code` has the controllers that the scenario names. */
  start(text: string, overrides: Override[], code?: string): void {
    clearTimeout(this.watchdog);
    const worker = this.ready();
    if (this.run > 0) this.send(worker, { kind: "stop", run: this.run });
    this.run += 1;
    this.send(worker, { kind: "start", run: this.run, text, overrides, code });
  }

  /** Asks the worker to stop. Its answer is the run's outcome, interrupted. */
  stop(): void {
    if (!this.worker) return;
    this.send(this.worker, { kind: "stop", run: this.run });
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => {
      this.end();
      this.ended();
    }, STOP_LIMIT_MS);
  }

  /** Explains a flow of the run that is over. A request replaces the one before. */
  explain(flow: string): void {
    this.request += 1;
    const { run, request } = this;
    if (this.worker) this.send(this.worker, { kind: "explain", run, request, flow });
  }

  stopExplaining(): void {
    this.request += 1;
    if (this.worker) this.send(this.worker, { kind: "stop-explaining", run: this.run });
  }

  /** Stops the run, and hears nothing more of it. */
  forget(): void {
    clearTimeout(this.watchdog);
    if (this.worker) this.send(this.worker, { kind: "stop", run: this.run });
    this.run += 1;
  }

  /** Frees the worker and its memory. */
  end(): void {
    clearTimeout(this.watchdog);
    this.worker?.terminate();
    this.worker = undefined;
  }

  private ready(): Worker {
    if (this.worker) return this.worker;
    const worker = new RunWorker();
    worker.onmessage = (event: MessageEvent<RunReply>) => {
      this.receive(event.data);
    };
    engineModule().then(
      (module) => {
        this.send(worker, { kind: "load", module });
      },
      () => {
        // The check worker tells: it has to start first.
      },
    );
    this.worker = worker;
    return worker;
  }

  private receive(reply: RunReply): void {
    if (reply.run !== this.run || ("request" in reply && reply.request !== this.request)) return;
    if (reply.kind !== "batches" && reply.kind !== "picture") clearTimeout(this.watchdog);
    // A failed engine may have left its memory in any state: the next run gets a new one.
    if (reply.kind === "failed") this.end();
    this.heard(reply);
  }

  private send(worker: Worker, request: RunRequest): void {
    worker.postMessage(request);
  }
}
