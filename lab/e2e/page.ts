// The built page in a browser: what the tests need, and what they do with it.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

export const DIST = fileURLToPath(new URL("../dist/", import.meta.url));

export const CHROMIUM = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== "" && existsSync(path),
);

/** Why the tests cannot run here; undefined if they can. */
export function missing(): string | undefined {
  if (!CHROMIUM) return "no Chromium (set CHROMIUM to its path, or install Debian's chromium)";
  if (!existsSync(join(DIST, "index.html"))) return "the page is not built (npm run build)";
  return undefined;
}

/** Waits for the end of a run, and returns its digest. */
export async function digest(page: Page, run = 0): Promise<string> {
  const status = page.locator(".status").nth(run);
  await status.locator(".digest").waitFor({ timeout: 60_000 });
  return (await status.locator(".digest").textContent()) ?? "";
}

/** Moves a slider, as a keyboard does. */
export async function slide(page: Page, key: string, value: string): Promise<void> {
  await page
    .locator(`input[data-key="${key}"]`)
    .first()
    .evaluate((input: HTMLInputElement, to) => {
      input.value = to;
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, value);
}

/** Waits until the digest of a run is another one. */
export async function otherDigest(page: Page, before: string): Promise<string> {
  await page.waitForFunction(
    (old) => {
      const now = document.querySelector(".status .digest")?.textContent;
      return typeof now === "string" && now !== old;
    },
    before,
    { timeout: 60_000 },
  );
  return digest(page);
}

/** Pauses, so that nothing moves but what a test moves. */
export async function pause(page: Page): Promise<void> {
  // The button has another name once the run was watched to its end.
  await page.evaluate(() => {
    const play = document.querySelector<HTMLButtonElement>("button.play");
    if (play?.textContent === "Pause") play.click();
  });
}

/** The address, once the page keeps its state there: 300 ms after a change. A timer of the page that is due later comes
 *  later, however slow the machine is. */
export async function settledLink(page: Page): Promise<string> {
  await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
  return page.url();
}

/** Types another scenario in place of the one in the editor. */
export async function changeScenario(page: Page, change: (text: string) => string): Promise<void> {
  await page.click("#tab-Scenario");
  const text = await scenarioText(page);
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(change(text));
}

/** The text in the editor. */
export async function scenarioText(page: Page): Promise<string> {
  await page.click("#tab-Share");
  const download = page.waitForEvent("download");
  await page.click("text=Download the scenario");
  const text = readFileSync(await (await download).path(), "utf8");
  await page.click("#tab-Scenario");
  return text;
}
