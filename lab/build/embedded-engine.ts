// `virtual:engine`: the engine's WebAssembly as text. It is deflated before it becomes base64, so that the script is
// smaller than the module itself, and a web server's gzip finds nothing more to gain.
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { deflateRawSync } from "node:zlib";
import type { Plugin } from "vite";

const WASM = fileURLToPath(new URL("../src/engine/incastle_wasm_bg.wasm", import.meta.url));
const ID = "virtual:engine";

/** Tests of functions run without the engine; a page without it is not built. */
export function embeddedEngine(): Plugin {
  let isBuild = false;
  return {
    name: "lab-embedded-engine",
    configResolved: (config) => {
      isBuild = config.command === "build";
    },
    resolveId: (id) => (id === ID ? `\0${ID}` : undefined),
    load(id) {
      if (id !== `\0${ID}`) return undefined;
      if (!existsSync(WASM) && !isBuild) return 'export default "";';
      if (!existsSync(WASM)) this.error(`${WASM} is missing: build crates/wasm first (make lab)`);
      const packed = deflateRawSync(readFileSync(WASM), { level: 9 });
      return `export default ${JSON.stringify(packed.toString("base64"))};`;
    },
  };
}
