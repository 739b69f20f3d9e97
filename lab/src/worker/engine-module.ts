// The engine, compiled once for all workers. It comes with the script (see build/embedded-engine.ts).
import packed from "virtual:engine";
import { inflateSync } from "fflate";
import { bytesOfBase64 } from "../link/base64";

let compiled: Promise<WebAssembly.Module> | undefined;

export function engineModule(): Promise<WebAssembly.Module> {
  compiled ??= WebAssembly.compile(inflateSync(bytesOfBase64(packed)));
  return compiled;
}
