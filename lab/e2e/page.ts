// A browser with the built page, served as `incastle lab` does: from a folder, on 127.0.0.1.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

export const DIST = fileURLToPath(new URL("../dist/", import.meta.url));

const CHROMIUM = [process.env.CHROMIUM ?? "", "/usr/bin/chromium", "/usr/bin/google-chrome"].find(
  (path) => path !== "" && existsSync(path),
);

/** Why the tests cannot run here; undefined if they can. */
export function missing(): string | undefined {
  if (!CHROMIUM) return "no Chromium (set CHROMIUM to its path, or install Debian's chromium)";
  if (!existsSync(join(DIST, "index.html"))) return "the page is not built (npm run build)";
  return undefined;
}

export async function launch(): Promise<Browser> {
  const root = process.getuid?.() === 0;
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: root ? ["--no-sandbox"] : [] });
}

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

export interface Served {
  address: string;
  /** Paths that were asked for. */
  asked: string[];
  server: Server;
}

export async function serve(): Promise<Served> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://lab").pathname;
    asked.push(path);
    const file = join(DIST, path === "/" ? "index.html" : path);
    if (!file.startsWith(DIST) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { address: `http://127.0.0.1:${port}/`, asked, server };
}

/** A page in a context of its own, and what its console said. */
export async function open(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<{ page: Page; said: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  const said: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") said.push(message.text());
  });
  page.on("pageerror", (error) => said.push(error.message));
  await page.goto(address);
  return { page, said };
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
