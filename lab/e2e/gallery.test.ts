// Every experiment of the gallery runs in the browser, with the digest of the command line.
import { execFileSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { digest, otherDigest, slide } from "./page";

const GALLERY = fileURLToPath(new URL("../src/gallery/", import.meta.url));
const IDS = readdirSync(GALLERY).flatMap((file) => (file.endsWith(".toml") ? [file.slice(0, -5)] : []));

/** The command line, such as "python -m incastle". */
const COMMAND = process.env.INCASTLE?.split(" ") ?? [];

function native(id: string): string {
  const [program = "", ...first] = COMMAND;
  const out = join(tmpdir(), `incastle-lab-${process.pid}-${id}`);
  try {
    const args = [...first, "run", join(GALLERY, `${id}.toml`), "--json", "--out", out];
    const summary = JSON.parse(execFileSync(program, args, { encoding: "utf8", stdio: "pipe" })) as {
      digest: string;
    };
    return summary.digest;
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

describeLab("the gallery", (lab) => {
  it.each(IDS)("%s runs without errors, and a slider changes its digest", async (id) => {
    const { page, said } = await lab.open();
    await page.selectOption("#experiment", id);
    await page.waitForFunction(
      (name) => document.querySelector("#experiment")?.matches(`[data-id="${name}"]`),
      id,
    );
    const first = await digest(page);
    const slider = page.locator("input[data-key]").first();
    const key = (await slider.getAttribute("data-key")) ?? "";
    await slide(page, key, (await slider.getAttribute("max")) ?? "");
    expect(await otherDigest(page, first)).toMatch(/^[0-9a-f]{16}$/);
    expect(said).toEqual([]);
    await page.context().close();
  });

  it.skipIf(COMMAND.length === 0).each(IDS)("%s has the digest of the command line", async (id) => {
    const { page } = await lab.open();
    await page.selectOption("#experiment", id);
    await page.waitForFunction(
      (name) => document.querySelector("#experiment")?.matches(`[data-id="${name}"]`),
      id,
    );
    expect(await digest(page)).toBe(native(id));
    await page.context().close();
  });
});
