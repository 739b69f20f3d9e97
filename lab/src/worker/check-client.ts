// The page's side of the check worker.
import { engineModule } from "./engine-module";
import CheckWorker from "./check.worker?worker&inline";
import type { CheckReply, CheckRequest, Checked, Override } from "./protocol";

export interface EngineFacts {
  version: string;
  schema: string;
}

interface Waiting {
  resolve: (checked: Checked) => void;
  reject: (reason: Error) => void;
}

export class CheckClient {
  private readonly worker = new CheckWorker();
  private readonly waiting = new Map<number, Waiting>();
  private count = 0;

  /** Version and schema, as soon as the engine is there. */
  readonly ready: Promise<EngineFacts>;

  constructor() {
    this.ready = new Promise((resolve, reject) => {
      this.worker.onmessage = (event: MessageEvent<CheckReply>) => {
        const reply = event.data;
        if (reply.kind === "ready") resolve(reply);
        else if (reply.kind === "failed" && reply.check === 0) reject(new Error(reply.message));
        else this.answer(reply);
      };
      engineModule().then((module) => {
        this.send({ kind: "load", module });
      }, reject);
    });
  }

  check(text: string, overrides: Override[]): Promise<Checked> {
    this.count += 1;
    const check = this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(check, { resolve, reject });
      this.send({ kind: "check", check, text, overrides });
    });
  }

  private answer(reply: Exclude<CheckReply, { kind: "ready" }>): void {
    const waiting = this.waiting.get(reply.check);
    this.waiting.delete(reply.check);
    if (reply.kind === "checked") waiting?.resolve(reply.checked);
    else waiting?.reject(new Error(reply.message));
  }

  private send(request: CheckRequest): void {
    this.worker.postMessage(request);
  }
}
