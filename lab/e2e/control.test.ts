// Controllers that somebody writes in the page: they run beside others, in links they wait for consent, and they find no
// way out of their worker.
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { digest, settledLink } from "./page";

/** Says by its failure what the code finds. */
const CURIOUS = `class Mine extends Controller {
  on_ack() {
    const ways = [typeof fetch, typeof postMessage, typeof importScripts, typeof indexedDB, typeof Worker];
    let evaluated = "code of text is refused";
    try { new Function("return 1")(); evaluated = "code of text runs"; } catch {}
    throw new Error([...ways, evaluated].join(" "));
  }
}
`;

async function write(page: Page, source: string): Promise<void> {
  await page.click("#tab-Control");
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+A");
  // Pasted, so that the editor closes no brackets.
  await page.evaluate((text) => {
    const content = document.querySelector(".editor-box")?.shadowRoot?.querySelector(".cm-content");
    const data = new DataTransfer();
    data.setData("text/plain", text);
    content?.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
    );
  }, source);
}

async function failure(page: Page): Promise<string> {
  const failed = page.locator('.status[data-status="failed"]');
  await failed.waitFor({ timeout: 60_000 });
  return (await failed.textContent()) ?? "";
}

describeLab("a control of one's own", (lab) => {
  it("runs beside DCTCP, from each template", async () => {
    const { page, said } = await lab.open();
    const dctcp = await digest(page);
    await page.click("#tab-Control");
    const digests = new Set([dctcp]);
    const templates = page.getByLabel("Begin with");
    const count = (await templates.locator("option").count()) - 1;
    await page.getByRole("button", { name: "Compare with it as run B" }).click();
    for (let template = 0; template < count; template += 1) {
      await templates.selectOption(String(template));
      await page.waitForFunction(
        (known) => {
          const now = document.querySelectorAll(".status .digest")[1]?.textContent;
          return typeof now === "string" && !known.includes(now);
        },
        [...digests],
        { timeout: 60_000 },
      );
      digests.add(await digest(page, 1));
    }
    expect(digests.size).toBe(1 + count);
    expect(await digest(page, 0)).toBe(dctcp);
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("reaches neither the page nor the network", async () => {
    const { page } = await lab.open();
    await digest(page);
    await write(page, CURIOUS);
    await page.getByRole("button", { name: "Use it in the run" }).click();
    expect(await failure(page)).toContain(
      "undefined undefined undefined undefined undefined code of text is refused",
    );
    await page.context().close();
  });

  it("says what is wrong with its code", async () => {
    const { page } = await lab.open();
    await digest(page);
    await write(page, "class Mine extends Controller { on_ack( }\n");
    await page.getByRole("button", { name: "Use it in the run" }).click();
    expect(await failure(page)).toBe(
      "The code under “Control” cannot be run: Unexpected token '}' (line 1, column 41).",
    );
    await page.context().close();
  });

  it("stops although its code never ends", async () => {
    const { page } = await lab.open();
    await digest(page);
    await write(page, "class Mine extends Controller { on_ack() { for (;;); } }\n");
    await page.getByRole("button", { name: "Use it in the run" }).click();
    await page.locator('.status[data-status="running"]').waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator('.status[data-status="stopped"]').waitFor();
    await page.context().close();
  });

  it("of a link is shown, and runs after a look at it", async () => {
    const first = await lab.open();
    const dctcp = await digest(first.page);
    await first.page.click("#tab-Control");
    await first.page.getByLabel("Begin with").selectOption("1");
    await first.page.getByRole("button", { name: "Use it in the run" }).click();
    await first.page.waitForFunction(
      (old) => {
        const now = document.querySelector(".status .digest")?.textContent;
        return typeof now === "string" && now !== old;
      },
      dctcp,
      { timeout: 60_000 },
    );
    const own = await digest(first.page);
    const link = await settledLink(first.page);

    const second = await lab.open(link);
    expect(await failure(second.page)).toContain("Control");
    await second.page.click("#tab-Control");
    await second.page.getByRole("button", { name: "Run this code" }).click();
    expect(await digest(second.page)).toBe(own);
    await first.page.context().close();
    await second.page.context().close();
  });
});
