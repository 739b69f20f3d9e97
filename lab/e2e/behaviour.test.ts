// The page in use: links, mistakes, stop, reload, compare, save, accessibility.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { changeScenario, digest, DIST, otherDigest, pause, scenarioText, settledLink, slide } from "./page";

const K = "switch.queue.marking_threshold";

describeLab("the page", (lab) => {
  it("asks for its three files, and for nothing while it runs", async () => {
    const before = lab.asked.length;
    const { page, said } = await lab.open();
    await digest(page);
    expect(lab.asked.slice(before).sort()).toEqual(["/", "/lab.css", "/lab.js"]);
    expect(said).toEqual([]);
  });

  it("works from a file", async () => {
    const { page, said } = await lab.open(pathToFileURL(`${DIST}index.html`).href);
    expect(await digest(page)).toMatch(/^[0-9a-f]{16}$/);
    expect(said).toEqual([]);
  });

  it("may not fetch, nor make code of text", async () => {
    const { page } = await lab.open();
    await digest(page);
    const refused = await page.evaluate(async (address) => {
      const fetched = await fetch(address).then(
        () => false,
        () => true,
      );
      // Code that the test evaluates is exempt from the policy; a timer that it sets is not.
      const evaluated = await new Promise((resolve) =>
        setTimeout(() => {
          try {
            resolve(typeof new Function("return 1") !== "function");
          } catch {
            resolve(true);
          }
        }, 0),
      );
      return [fetched, evaluated];
    }, lab.address);
    expect(refused).toEqual([true, true]);
  });

  it("restores a link byte by byte", async () => {
    const first = await lab.open();
    await digest(first.page);
    await slide(first.page, K, "40");
    await first.page.getByLabel("Compare", { exact: true }).click();
    await editScenario(first.page, "# typed, with µ and “quotes”\n");
    const digests = [await digest(first.page, 0), await digest(first.page, 1)];
    await pause(first.page);
    const link = await settledLink(first.page);
    const second = await lab.open(link);
    expect([await digest(second.page, 0), await digest(second.page, 1)]).toEqual(digests);
    expect(await scenarioText(second.page)).toBe(await scenarioText(first.page));
    expect(await settledLink(second.page)).toBe(link);
  });

  it("loses nothing by reloading", async () => {
    const { page } = await lab.open();
    await digest(page);
    await editScenario(page, "# my own words\n");
    await page.goto(lab.address);
    expect(await scenarioText(page)).toContain("# my own words");
  });

  it("loses nothing by reloading in the middle of a word", async () => {
    const { page } = await lab.open();
    await digest(page);
    await editScenario(page, "# my own words\n");
    await settledLink(page);
    await editScenario(page, "# half a wo");
    await page.reload();
    expect(await scenarioText(page)).toMatch(/^# half a wo# my own words\n/);
  });

  it("keeps what was typed when an experiment replaces it", async () => {
    const { page, said } = await lab.open();
    await digest(page);
    await changeScenario(page, (text) => `# mine\n${text.replace(/name = .*/, 'name = "mine"')}`);
    await page.click("#tab-Experiment");
    await page.locator("#experiment:not([data-id])").waitFor();
    await page.selectOption("#experiment", "choose-k");
    await page.locator('#experiment[data-id="choose-k"]').waitFor();
    await page.selectOption("#experiment", { label: "Your own scenario" });
    await page.locator("#experiment:not([data-id])").waitFor();
    expect(await scenarioText(page)).toContain("# mine");
    expect(said).toEqual([]);
  });

  it("says what to reduce when a run is too large", async () => {
    const { page } = await lab.open();
    await digest(page);
    await changeScenario(page, (text) => text.replace(/duration = .*/, 'duration = "1000000 s"'));
    await page.locator('.status[data-status="failed"]').waitFor();
    const words = await page.locator(".status").textContent();
    expect(words).toMatch(/records of this run take \d.* for [\d,]+ .*: more than the 400 MB/);
    expect(words).toMatch(/Reduce them: \w.*; or a shorter run\.duration/);
  });

  it("announces how long a run takes", async () => {
    const { page } = await lab.open();
    await digest(page);
    await changeScenario(page, (text) => text.replace(/duration = .*/, 'duration = "1000 s"'));
    const running = page.locator('.status[data-status="running"]');
    await running.waitFor();
    const words = await running.textContent();
    const [, left = "", unit = ""] = /about ([\d,]+) (s|min|h|days) left/.exec(words ?? "") ?? [];
    // 7 x 10^8 packet-hops at most; machines have between half a million and 20 million per second.
    const seconds = Number(left) * ({ s: 1, min: 60, h: 3600 }[unit] ?? Infinity);
    expect(seconds).toBeGreaterThan(20);
    expect(seconds).toBeLessThan(3600);
    // A run of less than a tenth of a second measures no speed (state/speed.ts); its worker may be late to begin.
    await page.waitForTimeout(1500);
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".status", { hasText: "Stopped after" }).waitFor();
    const speed = await page.evaluate(() => Number(localStorage.getItem("incastle-lab-speed")));
    expect(speed).toBeGreaterThan(1e5);
  });

  it("shows for how long PFC has paused a port", async () => {
    const { page, said } = await lab.open();
    await page.selectOption("#experiment", "pfc-storm");
    await page.locator('#experiment[data-id="pfc-storm"]').waitFor();
    await page.locator(".legend", { hasText: "paused by PFC" }).waitFor();
    await digest(page);
    await page.click("text=In words");
    await page.locator("input.time").focus();
    await page.keyboard.press("End");
    const row = page.locator("details tr", { hasText: "spine:1->leaf:1" });
    const cells = await row.locator("td").allTextContents();
    // Paused from 2 ms on, nearly always; the run takes 10 ms.
    expect(cells.at(-1)).toMatch(/^[5-8](\.\d+)? ms$/);
    expect(Number.parseFloat(cells.at(-2) ?? "")).toBeGreaterThan(50);
    expect(said).toEqual([]);
  });

  it("saves the picture of the network", async () => {
    const { page, said } = await lab.open();
    await digest(page);
    const svg = (await saved(page, "SVG")).toString("utf8");
    expect(svg).toMatch(/^<svg /);
    // Four hosts and two switches with their names, and a line about the instant.
    expect(svg.match(/<text [^>]*fill="#/g)).toHaveLength(7);
    expect(svg).toContain(">receiver:1</text>");
    expect(svg).toMatch(/ at [\d.]+ (ms|us|s); a full bar is a queue of [\d.]+ KB</);
    const parsed = await page.evaluate(
      (text) =>
        new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent,
      svg,
    );
    expect(parsed).toBeUndefined();
    const png = await saved(page, "PNG");
    expect(png.subarray(1, 4).toString("latin1")).toBe("PNG");
    expect(png.length).toBeGreaterThan(5000);
    expect(said).toEqual([]);
  });

  it.each([
    ["#1.AAAA", "damaged"],
    ["#7.AAAA", "newer version"],
  ])("says what to do with the link %s", async (hash, words) => {
    const { page } = await lab.open(lab.address + hash);
    expect(await page.locator("[role=alert]").textContent()).toContain(words);
    expect(await digest(page)).toMatch(/^[0-9a-f]{16}$/);
  });

  it("says what it needs where there is no WebAssembly", async () => {
    const { page } = await lab.open("about:blank");
    await page.addInitScript("delete globalThis.WebAssembly");
    await page.goto(lab.address);
    expect(await page.locator("[role=alert]").textContent()).toContain("WebAssembly");
  });

  it("shows a mistake at its line", async () => {
    const { page } = await lab.open();
    await digest(page);
    await editScenario(page, "nonsense = 3\n");
    await page.locator('.status[data-status="refused"]').waitFor();
    expect(await page.locator(".status").textContent()).toContain("Line 1: ");
    await page.locator(".cm-line", { hasText: "nonsense" }).locator(".cm-lintRange-error").waitFor();
  });

  it("completes keys from the schema", async () => {
    const { page } = await lab.open();
    await digest(page);
    await editScenario(page, "[transport]\ncong");
    await page.locator(".cm-tooltip-autocomplete", { hasText: "congestion" }).waitFor();
  });

  it("stops", async () => {
    const { page } = await lab.open();
    await digest(page);
    await changeScenario(page, (text) => text.replace(/duration = .*/, 'duration = "100 s"'));
    await page.locator('.status[data-status="running"]').waitFor();
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    // Within which time is measured by bench/versus_browser.
    await page.locator(".status", { hasText: "Stopped after" }).waitFor();
  });

  it("repeats a run with the same digest", async () => {
    const { page } = await lab.open();
    const first = await digest(page);
    await slide(page, K, "60");
    const other = await otherDigest(page, first);
    await page.click("text=Back to the scenario’s values");
    expect(await otherDigest(page, other)).toBe(first);
  });

  it("is operated by the keyboard", async () => {
    const { page } = await lab.open();
    await digest(page);
    await page.locator("#tab-Experiment").focus();
    await page.keyboard.press("ArrowRight");
    expect(await page.locator("#tab-Scenario").getAttribute("aria-selected")).toBe("true");
    await page.locator("input.time").focus();
    await page.keyboard.press("End");
    expect(await page.locator(".clock").textContent()).toBe("200.0 ms");
  });

  it.each(["light", "dark"] as const)("has no serious accessibility fault, %s", async (colorScheme) => {
    const { page } = await lab.open(lab.address, { colorScheme });
    await digest(page);
    for (const tab of ["Experiment", "Scenario", "Share"]) {
      await page.click(`#tab-${tab}`);
      expect(await faults(page)).toEqual([]);
    }
    await page.getByLabel("Compare", { exact: true }).click();
    await page.click("text=In words");
    expect(await faults(page)).toEqual([]);
  });
});

/** Types at the start of the scenario. */
async function editScenario(page: Page, typed: string): Promise<void> {
  await page.click("#tab-Scenario");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+Home");
  if (typed.endsWith("\n")) await page.keyboard.insertText(typed);
  else await page.keyboard.type(typed);
}

async function saved(page: Page, format: string): Promise<Buffer> {
  const download = page.waitForEvent("download");
  await page.getByLabel("Save the picture of the network").selectOption(format);
  return readFileSync(await (await download).path());
}

interface Found {
  violations: { id: string; impact: string; nodes: { html: string }[] }[];
}

async function faults(page: Page): Promise<string[]> {
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(axe);
  const found = await page.evaluate<Found>("axe.run()");
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}
