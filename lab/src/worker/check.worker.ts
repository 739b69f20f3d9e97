// The worker that checks scenarios, so that the editor has its answer while a run is under way.
import init, { check, schema, version } from "../engine/incastle_wasm.js";
import type { CheckReply, CheckRequest, Checked } from "./protocol";

let load: (module: WebAssembly.Module) => void;
const loaded = new Promise<WebAssembly.Module>((resolve) => (load = resolve)).then((module) =>
  init({ module_or_path: module }),
);

function post(reply: CheckReply): void {
  self.postMessage(reply);
}

self.onmessage = (event: MessageEvent<CheckRequest>) => {
  void answer(event.data);
};

async function answer(request: CheckRequest): Promise<void> {
  const number = request.kind === "check" ? request.check : 0;
  try {
    if (request.kind === "load") {
      load(request.module);
      await loaded;
      post({ kind: "ready", version: version(), schema: schema() });
      return;
    }
    await loaded;
    const checked = JSON.parse(check(request.text, JSON.stringify(request.overrides))) as Checked;
    post({ kind: "checked", check: number, checked });
  } catch (error) {
    post({
      kind: "failed",
      check: number,
      message: error instanceof Error ? error.message : String(error),
    });
  }
}
