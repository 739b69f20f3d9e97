// Explanations in the page: the words of `incastle explain`, from a click on a flow, with the keyboard, and stopped.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { changeScenario, digest, otherDigest, slide } from "./page";

const GALLERY = fileURLToPath(new URL("../src/gallery/", import.meta.url));
const COMMAND = process.env.INCASTLE?.split(" ") ?? [];

function command(...args: string[]): string {
  const [program = "", ...first] = COMMAND;
  const wide = { ...process.env, COLUMNS: "400" };
  return execFileSync(program, [...first, ...args], { encoding: "utf8", stdio: "pipe", env: wide });
}

/** Lines of text that have letters, each with single blanks. */
function lines(texts: readonly string[]): string[] {
  return texts.map((text) => text.replace(/\s+/g, " ").trim()).filter((text) => /[a-z]/.test(text));
}

function native(id: string, flow: string): string[] {
  const out = join(tmpdir(), `incastle-lab-explain-${process.pid}-${id}`);
  try {
    command("run", join(GALLERY, `${id}.toml`), "--out", out);
    return lines(command("explain", out, ...(flow ? ["--flow", flow] : [])).split("\n"));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

/** What the panel says, line by line. */
async function answer(page: Page): Promise<string[]> {
  const panel = page.locator(".explain .answer");
  await panel.waitFor({ timeout: 60_000 });
  const texts = await panel.locator("p:not(.faint), tr, h3, li").evaluateAll((found) =>
    found.map((one) => {
      const cells = [...one.querySelectorAll("th, td")];
      return cells.length > 0 ? cells.map((cell) => cell.textContent).join(" ") : one.textContent;
    }),
  );
  return lines(texts);
}

async function ask(page: Page, flow: string): Promise<void> {
  await page.getByLabel("Flow", { exact: true }).fill(flow);
  await page.getByRole("button", { name: "Explain", exact: true }).click();
}

describeLab("an explanation", (lab) => {
  async function ended(id: string): Promise<{ page: Page; said: string[] }> {
    const opened = await lab.open();
    await opened.page.selectOption("#experiment", id);
    await opened.page.waitForFunction(
      (name) => document.querySelector("#experiment")?.matches(`[data-id="${name}"]`),
      id,
    );
    await digest(opened.page);
    return opened;
  }

  it.skipIf(COMMAND.length === 0).each([
    ["incast-collapse", ""],
    ["incast-collapse", "3"],
    ["victim-flow", "victim"],
    ["qcn", ""],
  ])("of %s, flow “%s”, has the words of the command line", async (id, flow) => {
    const { page, said } = await ended(id);
    await ask(page, flow);
    expect(await answer(page)).toEqual(native(id, flow));
    const shown = await page.locator(".explain .faint").textContent();
    expect(shown).toContain(`identical run, digest ${await digest(page)}`);
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("begins at a flow of the chart, with the keyboard, and moves there", async () => {
    const { page } = await ended("incast-collapse");
    const button = page.getByRole("button", { name: /^Explain storage:\d+$/ }).first();
    const name = (await button.textContent()) ?? "";
    await button.press("Enter");
    expect((await answer(page))[0]).toContain(`${name} (flow `);
    const focused = await page.evaluate(() => document.activeElement?.id);
    expect(focused).toBe("explain-a");
    await page.context().close();
  });

  it("begins at a flow with timeouts, and its instants can be shown", async () => {
    const { page } = await ended("incast-collapse");
    await page
      .getByRole("button", { name: /timeouts?$/ })
      .first()
      .click();
    const said = await answer(page);
    const heading = said.find((line) => line.startsWith("Timeout at"));
    expect(said).toContain("In order");
    await page
      .getByRole("button", { name: /^Timeout at/ })
      .first()
      .click();
    const instant = Number(/at ([\d,.]+) ms/.exec(heading ?? "")?.[1]?.replaceAll(",", ""));
    const clock = (await page.locator(".clock").textContent()) ?? "";
    expect(Number.parseFloat(clock)).toBeCloseTo(instant, 0);
    await page.context().close();
  });

  it("of an unknown flow is one message, and a new run clears it", async () => {
    const { page, said } = await ended("tcp-dctcp");
    await ask(page, "");
    const bad = page.locator(".explain .bad", { hasText: "no flow of this run has an end: name one" });
    await bad.waitFor();
    await ask(page, "nobody:7");
    await page.locator(".explain .bad", { hasText: "nobody" }).waitFor();
    expect(await page.locator(".explain .bad").textContent()).toBe("there is no flow nobody:7");
    const before = await digest(page);
    await slide(page, "switch.queue.marking_threshold", "40");
    await otherDigest(page, before);
    expect(await page.locator(".explain .bad").count()).toBe(0);
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("stops, and another one can follow", async () => {
    const { page } = await ended("incast-collapse");
    const before = await digest(page);
    await changeScenario(page, (text) => text.replace(/duration = .*/, 'duration = "20 s"'));
    await otherDigest(page, before);
    await ask(page, "storage:1");
    await page.locator(".explain progress").waitFor();
    await page.getByRole("button", { name: "Stop explaining" }).click();
    expect(await page.locator(".explain progress").count()).toBe(0);
    await ask(page, "storage:2");
    expect((await answer(page))[0]).toContain("storage:2 (flow ");
    await page.context().close();
  });

  it("is of run B, under a controller of the page", async () => {
    const { page, said } = await ended("tcp-dctcp");
    await page.click("#tab-Control");
    await page.click("text=Compare with it as run B");
    const second = await digest(page, 1);
    expect(second).not.toBe(await digest(page, 0));
    const panel = page.locator("#explain-b");
    await panel.getByLabel("Flow", { exact: true }).fill("first");
    await panel.getByRole("button", { name: "Explain", exact: true }).click();
    expect((await answer(page))[0]).toContain("first:0 (flow 0)");
    expect(await panel.locator(".answer .faint").textContent()).toContain(second);
    expect(await page.locator("#explain-a .answer").count()).toBe(0);
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("has no serious fault of accessibility", async () => {
    const { page } = await ended("incast-collapse");
    await ask(page, "");
    await answer(page);
    const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await page.evaluate(axe);
    const found = await page.evaluate<{ violations: { id: string; impact: string }[] }>(
      "axe.run('.explain')",
    );
    const faults = found.violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    expect(faults).toEqual([]);
    await page.context().close();
  });
});
