// The engine, compiled once for all workers. It comes with the script (see build/embedded-engine.ts), and is inflated and
// compiled outside of the page's thread.
import packed from "virtual:engine";
import { bytesOfBase64 } from "../link/base64";

let compiled: Promise<WebAssembly.Module> | undefined;

export function engineModule(): Promise<WebAssembly.Module> {
  compiled ??= compile();
  return compiled;
}

async function compile(): Promise<WebAssembly.Module> {
  const inflated = new Blob([bytesOfBase64(packed)])
    .stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  return WebAssembly.compileStreaming(
    new Response(inflated, { headers: { "content-type": "application/wasm" } }),
  );
}
