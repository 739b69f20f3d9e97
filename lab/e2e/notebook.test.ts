// `ic.lab(scenario)`: the page inside a sandboxed frame, as a notebook shows it.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { describeLab } from "./lab";

const SCENARIO = fileURLToPath(new URL("../../examples/two-flows.toml", import.meta.url));
/** The interpreter of "python -m incastle". */
const [PYTHON = "", ...rest] = process.env.INCASTLE?.split(" ") ?? [];

function python(code: string): string {
  return execFileSync(PYTHON, ["-c", `import incastle as ic\n${code}`, SCENARIO], {
    encoding: "utf8",
    maxBuffer: 2 ** 24,
  });
}

describeLab(
  "in a notebook",
  (lab) => {
    it("runs the scenario, with the digest of ic.run", async () => {
      const file = join(tmpdir(), `incastle-notebook-${process.pid}.html`);
      // Without its encoding a browser would guess it from the text.
      const output = python("import sys; print(ic.lab(sys.argv[1])._repr_html_())");
      writeFileSync(file, `<!doctype html><meta charset="utf-8" />${output}`);
      const { page, said } = await lab.open(`file://${file}`);
      const digest = page.frameLocator("iframe").locator(".status .digest").first();
      await digest.waitFor({ timeout: 60_000 });
      expect(await digest.textContent()).toBe(
        python("import sys; print(ic.run(ic.load(sys.argv[1])).digest)").trim(),
      );
      expect(said).toEqual([]);
      rmSync(file);
    });
  },
  rest[0] === "-m",
);
