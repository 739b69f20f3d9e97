// A controller in JavaScript does what the same one does in Python: the digests are equal. Faults end a run in words.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { bridge } from "../src/control/bridge.ts";
import type { Class } from "../src/control/bridge.ts";
import { Controller } from "../src/control/controller.ts";
import type { Ack, Connection } from "../src/control/controller.ts";
import init, { Run } from "../src/engine/incastle_wasm.js";

const ENGINE = fileURLToPath(new URL("../src/engine/incastle_wasm_bg.wasm", import.meta.url));
const PYTHON = fileURLToPath(new URL("../../examples/my-controller/python/versus.toml", import.meta.url));
const COMMAND = process.env.INCASTLE?.split(" ") ?? [];

/** examples/my-controller/python/delay.py, line by line. */
class Delay extends Controller {
  private readonly target_s: number;
  private last_decrease_s = -Infinity;

  constructor(connection: Connection) {
    super(connection);
    this.target_s = Number(connection.parameters.target_us ?? 100) * 1e-6;
  }

  override on_ack(ack: Ack): void {
    if (ack.rtt_s === null || ack.in_recovery) return;
    if (ack.rtt_s < this.target_s) {
      if (ack.window_limited) this.cwnd_bytes += (this.mss_bytes * ack.acked_bytes) / this.cwnd_bytes;
    } else if (ack.now_s - this.last_decrease_s >= ack.rtt_s) {
      const excess = (ack.rtt_s - this.target_s) / ack.rtt_s;
      const share = Math.max(1 - 0.8 * excess, 1 - 0.5);
      this.cwnd_bytes = Math.max(share * this.cwnd_bytes, this.mss_bytes);
      this.last_decrease_s = ack.now_s;
    }
  }
}

class Wrong extends Controller {
  override on_ack(ack: Ack): void {
    if (ack.now_s > 0.001) this.cwnd_bytes = -1;
  }
}

class Throwing extends Controller {
  override on_ack(): void {
    throw new RangeError("not today");
  }
}

function run(name: string, one: Class): string {
  const text = readFileSync(PYTHON, "utf8").replace(
    'congestion = "delay.py:Delay"',
    `congestion = "custom"\ncontroller = "${name}"`,
  );
  Object.assign(globalThis, {
    incastle_controllers: bridge(new Map([[one.name, one]]), () => " (line 7, column 5)"),
  });
  const engine = new Run(text, "[]");
  while (!engine.is_done()) engine.advance(Infinity, 100_000);
  return engine.finish().digest;
}

describe.skipIf(!existsSync(ENGINE))("controllers in JavaScript", () => {
  beforeAll(async () => {
    await init({ module_or_path: readFileSync(ENGINE) });
  });

  it.skipIf(COMMAND.length === 0)("have the digest of the same in Python", () => {
    const [program = "", ...first] = COMMAND;
    const out = mkdtempSync(join(tmpdir(), "incastle-controller-"));
    const args = [...first, "run", PYTHON, "--json", "--out", join(out, "result")];
    const summary = JSON.parse(execFileSync(program, args, { encoding: "utf8", stdio: "pipe" })) as {
      digest: string;
    };
    rmSync(out, { recursive: true });
    expect(run("Delay", Delay)).toBe(summary.digest);
  });

  it("end the run where they throw", () => {
    expect(() => run("Throwing", Throwing)).toThrow(
      "Throwing: on_ack threw RangeError: not today (line 7, column 5)",
    );
  });

  it("end the run where a window is none", () => {
    expect(() => run("Wrong", Wrong)).toThrow(/Wrong: window gave -1 after on_ack; expected bytes/);
  });

  it("have to be there", () => {
    expect(() => run("Missing", Delay)).toThrow("no class has the name Missing; there are Delay");
  });
});
