// Prints the digest of the scenario on standard input, by the lab's engine (scripts/lab.py engine).
//
// Fails if the engine imports more than it needs for strings, errors and the calls of a controller in JavaScript: the
// pure side of Incastle reaches no clock, random numbers, files or sockets.
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

const folder = new URL('../lab/src/engine/', import.meta.url);
const NEEDED = [
  /^__wbg_Error_/,
  /^__wbg___wbindgen_(throw|string_get|debug_string)_/,
  /^__wbindgen_init_externref_table$/,
  // crates/wasm/src/controllers.rs.
  /^__wbg_(make|onAck|onCongestion|onSent|onTimer)_/,
];
const module = await WebAssembly.compile(await readFile(new URL('incastle_wasm_bg.wasm', folder)));
const reached = WebAssembly.Module.imports(module).map((i) => i.name)
  .filter((name) => !NEEDED.some((needed) => needed.test(name)));
if (reached.length > 0) {
  console.error(`the engine reaches ${reached.join(', ')}`);
  process.exit(1);
}
const engine = await import(new URL('incastle_wasm.js', folder));
engine.initSync({ module });
const run = new engine.Run(await text(process.stdin), '[]');
while (!run.is_done()) run.advance(Infinity, 100_000);
console.log(run.finish().digest);
