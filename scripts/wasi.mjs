// Runs a program built for wasm32-wasip1: node scripts/wasi.mjs PROGRAM < input
//
// Fails if the program imports a clock, random numbers, files by name or sockets: the pure side of Incastle
// must not use them.
import { readFile } from 'node:fs/promises';
import { WASI } from 'node:wasi';

const FORBIDDEN = /^(clock_|random_|sock_|path_|poll_|sched_)/;
const module = await WebAssembly.compile(await readFile(process.argv[2]));
const reached = WebAssembly.Module.imports(module).map((i) => i.name).filter((n) => FORBIDDEN.test(n));
if (reached.length > 0) {
  console.error(`the program reaches ${reached.join(', ')}`);
  process.exit(1);
}
const wasi = new WASI({ version: 'preview1', args: ['digest'], env: {}, returnOnExit: true });
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
process.exitCode = wasi.start(instance);
