// The page as it is read at 1280 pixels: answers and instants come into view, charts of two runs compare,
// mistakes are told where they are made, and nothing is cut.
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { changeScenario, digest } from "./page";

describeLab("the page, read", (lab) => {
  async function opened(id: string): Promise<Page> {
    const { page } = await lab.open();
    await page.selectOption("#experiment", id);
    await page.locator(`#experiment[data-id="${id}"]`).waitFor();
    await digest(page);
    return page;
  }

  it("moves to an answer, and to the picture of its instants, with the clock in sight", async () => {
    const page = await opened("incast-collapse");
    await page
      .getByRole("button", { name: /^Explain storage:\d+$/ })
      .first()
      .click();
    const answer = page.locator(".explain .answer");
    await answer.waitFor();
    expect(await inView(page, answer.locator(".headline"))).toBe(true);
    expect(await inView(page, page.locator(".clock"))).toBe(true);
    await answer.getByRole("button").first().click();
    expect(await inView(page, page.locator(".network canvas"))).toBe(true);
    await page.context().close();
  });

  it("has the windows of flows that wait for a timer", async () => {
    const page = await opened("incast-collapse");
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    // In this run no window changes between 60 ms and 200 ms.
    await page.getByRole("slider", { name: "Time", exact: true }).evaluate((input: HTMLInputElement) => {
      input.value = "200";
      input.dispatchEvent(new Event("input", { bubbles: true }));
    });
    const values = page.getByRole("figure", { name: "Congestion windows" }).locator(".u-value");
    const texts = await values.allTextContents();
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts.slice(1)) expect(text).toMatch(/^[\d.]+ KB$/);
    await page.context().close();
  });

  it("charts the same ports of two runs, in the same order", async () => {
    const page = await opened("victim-flow");
    await page.getByLabel("Compare", { exact: true }).click();
    await page.locator(".control select").nth(2).selectOption({ label: "HPCC" });
    await digest(page, 1);
    const charts = page.getByRole("figure", { name: "Queues, packets" });
    const [a, b] = [await lines(charts.nth(0)), await lines(charts.nth(1))];
    expect(a.length).toBeGreaterThan(2);
    expect(b).toEqual(a);
    await page.context().close();
  });

  it("keeps the table of a run within it", async () => {
    const page = await opened("victim-flow");
    await page.getByLabel("Compare", { exact: true }).click();
    await digest(page, 1);
    await page.locator("summary", { hasText: "In words" }).first().click();
    const run = page.getByRole("region", { name: "Run A" });
    expect(await right(run.locator(".below details"))).toBeLessThanOrEqual(await right(run));
    expect(await right(run.locator("select.save").first())).toBeLessThanOrEqual(await right(run));
    await page.context().close();
  });

  it("saves lines in steps, as it draws them", async () => {
    const page = await opened("tcp-dctcp");
    const saved = page.waitForEvent("download");
    await page.selectOption('[aria-label="Save the chart Congestion windows"]', "SVG");
    const svg = readFileSync(await (await saved).path(), "utf8");
    const points = (/<polyline[^>]* points="([^"]*)"/.exec(svg)?.[1] ?? "").split(" ");
    expect(points.length).toBeGreaterThan(100);
    const slanting = points.slice(1).filter((point, i) => {
      const [x, y] = point.split(",");
      const [before, above] = (points[i] ?? "").split(",");
      return x !== before && y !== above;
    });
    expect(slanting).toEqual([]);
    await page.context().close();
  });

  it("tells a mistake of a controller below its code", async () => {
    const page = await opened("tcp-dctcp");
    await page.click("#tab-Control");
    await page.click("text=Compare with it as run B");
    await digest(page, 1);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText("class Mine extends Controller { on_ack() { return nothing; } }");
    const message = page.locator(".uses .bad");
    await message.waitFor();
    expect(await message.textContent()).toContain("Run B has failed.");
    expect(await message.textContent()).toContain("nothing is not defined");
    expect(await inView(page, message)).toBe(true);
    await page.click("#tab-Experiment");
    expect(await page.locator(".control select").nth(1).locator("option:checked").textContent()).toBe(
      "Your control Mine",
    );
    await page.click("#tab-Share");
    await page.getByText("needs the same class in Python").waitFor();
    await page.context().close();
  });

  it("names settings next to the text that they replace, and keeps its tabs whole", async () => {
    const page = await opened("incast-collapse");
    await page.selectOption(".control select", { label: "DCTCP" });
    await changeScenario(page, (text) => text.replace("senders = 20", "sendres = 20"));
    await page.getByText("transport.congestion = dctcp").waitFor();
    await page.locator(".tabs .count").waitFor();
    const times = page.getByRole("figure", { name: "Completion times" });
    expect(await times.locator(".empty").textContent()).toBe("Here when the run is over.");
    await page.click("#tab-Experiment");
    const [tabs, column] = [await right(page.locator("#tab-Share")), await right(page.locator(".panel"))];
    expect(tabs).toBeLessThanOrEqual(column);
    await page.context().close();
  });
});

async function right(part: Locator): Promise<number> {
  const box = await part.boundingBox();
  return (box?.x ?? 0) + (box?.width ?? 0);
}

async function inView(page: Page, part: Locator): Promise<boolean> {
  const box = await part.first().boundingBox();
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0);
}

/** Names of the lines of a chart. */
async function lines(chart: Locator): Promise<string[]> {
  return (await chart.locator(".u-legend .u-label").allTextContents()).slice(1);
}
