// A browser with the built page, served as `incastle lab` does: from a folder, on 127.0.0.1.
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { CHROMIUM, DIST, missing } from "./page";

const TYPES: Record<string, string> = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

/** Tests that drive the page. They are skipped where a browser, the page, or what else they need is missing. */
export function describeLab(title: string, tests: (lab: Lab) => void, isPossible = true): void {
  describe.skipIf(missing() !== undefined || !isPossible)(title, () => {
    const lab = new Lab();
    beforeAll(() => lab.start());
    afterEach(() => lab.closePages());
    afterAll(() => lab.end());
    tests(lab);
  });
}

/** A browser, and a server of the page. */
export class Lab {
  /** Paths that were asked for. */
  readonly asked: string[] = [];
  private browser: Browser | undefined;
  private readonly server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://lab").pathname;
    this.asked.push(path);
    const file = join(DIST, path === "/" ? "index.html" : path);
    if (!file.startsWith(DIST) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    response.end(readFileSync(file));
  });

  get address(): string {
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  async start(): Promise<void> {
    const root = process.getuid?.() === 0;
    const args = root ? ["--no-sandbox"] : [];
    this.browser = await chromium.launch({ executablePath: CHROMIUM ?? "", args });
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve));
  }

  async end(): Promise<void> {
    await this.browser?.close();
    this.server.close();
  }

  /** Pages that still play would slow the next test down. */
  async closePages(): Promise<void> {
    await Promise.all(this.browser?.contexts().map((context) => context.close()) ?? []);
  }

  /** An address in a context of its own, and what its console said. */
  async open(
    address = this.address,
    options: BrowserContextOptions = {},
  ): Promise<{ page: Page; said: string[] }> {
    if (!this.browser) throw new Error("a test opens the page, not the definition of one");
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    const said: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") said.push(message.text());
    });
    page.on("pageerror", (error) => said.push(error.message));
    await page.goto(address);
    return { page, said };
  }
}
