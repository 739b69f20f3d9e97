// The page as it is read at 1280 pixels: answers and instants come into view, charts of two runs compare,
// mistakes are told where they are made, and nothing is cut.
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { expect, it } from "vitest";
import { describeLab } from "./lab";
import { changeScenario, digest, pause } from "./page";

describeLab("the page, read", (lab) => {
  async function opened(id: string): Promise<Page> {
    const { page } = await lab.open();
    await page.selectOption("#experiment", id);
    await page.locator(`#experiment[data-id="${id}"]`).waitFor();
    await digest(page);
    return page;
  }

  it("has an answer, its instants and the picture of them in view together", async () => {
    const page = await opened("incast-collapse");
    await pause(page);
    const panel = page.locator("#explain-a");
    // Its place is below the charts, where the picture is out of sight.
    await panel
      .getByRole("button", { name: /timeouts?$/ })
      .first()
      .click();
    const answer = panel.locator(".answer");
    await answer.waitFor();
    expect(await inView(page, answer.locator(".headline"))).toBe(true);
    expect(await inView(page, page.locator(".clock"))).toBe(true);
    const [picture, queues] = [page.locator(".canvas-box"), page.locator(".chart .now").first()];
    const instants = answer.locator("button.at");
    // Charts are in view, and stay.
    expect(await isAbove(queues, panel)).toBe(true);
    const before = await queues.evaluate((line) => line.closest(".chart")?.getBoundingClientRect().top);
    await instants.last().press("Enter");
    expect(await queues.evaluate((line) => line.closest(".chart")?.getBoundingClientRect().top)).toBe(before);
    expect(await instants.last().evaluate((button) => button === document.activeElement)).toBe(true);
    // Between picture and charts neither is seen whole: the picture comes.
    await page.locator("main").evaluate((main) => {
      main.scrollTop = 40;
    });
    expect([await isAbove(picture, panel), await isAbove(queues, panel)]).toEqual([false, false]);
    await instants.last().press("Enter");
    expect(await isAbove(picture, panel)).toBe(true);
    expect(await inView(page, instants.last())).toBe(true);
    // The keyboard reaches nothing that the answer hides.
    const below = page.locator("summary", { hasText: "Choose flows" });
    expect(await isAbove(below, panel)).toBe(false);
    await below.focus();
    expect(await isAbove(below, panel)).toBe(true);
    await answer.getByRole("button", { name: "Close the explanation" }).click();
    expect(await answer.count()).toBe(0);
    await page.context().close();
  });

  it("has the charts of two runs at the same heights", async () => {
    const page = await opened("fat-tree");
    await page.getByLabel("Compare", { exact: true }).click();
    await digest(page, 1);
    await pause(page);
    await page.locator("summary", { hasText: "In words" }).first().click();
    for (const part of [".canvas-box", ".words", ".chart"]) {
      const heights = await page
        .locator(".sides > section")
        .evaluateAll(
          (runs, name) =>
            runs.map((run) => [...run.querySelectorAll(name)].map((one) => one.getBoundingClientRect().top)),
          part,
        );
      expect(heights.length).toBe(2);
      expect(heights[0]?.length).toBeGreaterThan(0);
      expect(heights[1]).toEqual(heights[0]);
    }
    await page.context().close();
  });

  it("has its toolbar in one row of 1024 pixels", async () => {
    const { page } = await lab.open(lab.address, { viewport: { width: 1024, height: 768 } });
    await digest(page);
    for (const tab of ["Experiment", "Control"]) {
      await page.click(`#tab-${tab}`);
      const play = await page.locator("button.play").boundingBox();
      const zoom = await page.getByRole("group", { name: "Part of the run in the charts" }).boundingBox();
      expect(zoom?.y ?? Infinity).toBeLessThan((play?.y ?? 0) + (play?.height ?? 0));
    }
    await page.context().close();
  });

  it("has the windows of flows that wait for a timer", async () => {
    const page = await opened("incast-collapse");
    await pause(page);
    // In this run no window changes between 60 ms and 200 ms.
    await showInstant(page, "200");
    const values = page.getByRole("figure", { name: "Congestion windows" }).locator(".u-value");
    await expect.poll(async () => (await values.allTextContents())[0]).toBe("120 ms");
    const texts = await values.allTextContents();
    expect(texts.length).toBeGreaterThan(2);
    for (const text of texts.slice(1)) expect(text).toMatch(/^[\d.]+ KB$/);
    await page.context().close();
  });

  it("has the numbers of the instant shown, before and after a pointer", async () => {
    const page = await opened("tcp-dctcp");
    await pause(page);
    await showInstant(page, "500");
    const queues = page.getByRole("figure", { name: "Queues, packets" });
    const windows = page.getByRole("figure", { name: "Congestion windows" });
    const shown = async (): Promise<string[][]> => [
      await queues.locator(".u-value").allTextContents(),
      await windows.locator(".u-value").allTextContents(),
    ];
    await expect.poll(async () => (await shown()).map(([at]) => at)).toEqual(["100 ms", "100 ms"]);
    const before = await shown();
    await queues.locator(".u-over").hover({ position: { x: 30, y: 30 } });
    await expect.poll(shown).not.toEqual(before);
    await page.locator("h1").hover();
    await expect.poll(shown).toEqual(before);
    await page.context().close();
  });

  it("has the whole title of each experiment in the list", async () => {
    const { page } = await lab.open();
    await page.getByLabel("Compare", { exact: true }).click();
    await digest(page, 1);
    const cut = await page.locator("#experiment").evaluate((select: HTMLSelectElement) => {
      const pen = document.createElement("canvas").getContext("2d");
      if (!pen) throw new Error("no canvas");
      pen.font = getComputedStyle(select).font;
      // Less the arrow, and the scroll bar of the column, which a browser under test does not draw.
      const room = select.clientWidth - 24 - 15;
      return [...select.options].map(({ text }) => text).filter((text) => pen.measureText(text).width > room);
    });
    expect(cut).toEqual([]);
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
    const run = page.locator("#run-a");
    const table = run.locator(".below table");
    await table.getByText("Paused so far").waitFor();
    expect(await right(table)).toBeLessThanOrEqual(await right(run));
    expect(await table.evaluate(hiddenWidth)).toBe(0);
    // One way to write units: that of the scenario language, of which a reader can type all that is shown.
    expect(await page.locator("body").innerText()).not.toMatch(/[µμ]/);
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
    const other = page.waitForEvent("download");
    await page.selectOption('[aria-label="Save the chart Queues, packets"]', "CSV");
    expect((await other).suggestedFilename()).toBe("tcp-dctcp-queues-packets.csv");
    await page.context().close();
  });

  it("tells a mistake of a controller below its code", async () => {
    const page = await opened("tcp-dctcp");
    await page.click("#tab-Control");
    await page.click("text=Compare with it as run B");
    await digest(page, 1);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText("class Mine extends Controller { on_ack() {\n    return nothing; } }");
    const message = page.locator(".uses .bad");
    await message.waitFor();
    expect(await message.textContent()).toContain("Run B has failed.");
    expect(await message.textContent()).toContain("nothing is not defined (line 2, column 5)");
    const windows = page.locator("#run-b").getByRole("figure").nth(2);
    expect(await windows.locator("h3").textContent()).toBe("Congestion windows");
    expect(await windows.locator(".empty").textContent()).toBe("No samples yet.");
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
    expect(await times.locator(".empty").textContent()).toBe("Shown when the run is over.");
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

/** How much of an element's width its scrolled box hides. */
function hiddenWidth(element: Element): number {
  const box = element.closest(".words, details");
  return box ? box.scrollWidth - box.clientWidth : NaN;
}

/** Whether all of a part is in view, below the toolbar, and not behind a panel. */
async function isAbove(part: Locator, panel: Locator): Promise<boolean> {
  const page = part.page();
  const [box, toolbar] = [
    await part.boundingBox(),
    await page.getByRole("toolbar", { name: "Time" }).boundingBox(),
  ];
  const edge = (await panel.boundingBox())?.y ?? 0;
  return box !== null && box.y >= (toolbar?.y ?? 0) + (toolbar?.height ?? 0) && box.y + box.height <= edge;
}

async function inView(page: Page, part: Locator): Promise<boolean> {
  const box = await part.first().boundingBox();
  return box !== null && box.y >= 0 && box.y + box.height <= (page.viewportSize()?.height ?? 0);
}

/** Names of the lines of a chart. */
async function lines(chart: Locator): Promise<string[]> {
  return (await chart.locator(".u-legend .u-label").allTextContents()).slice(1);
}

/** Moves the slider of the time to an instant, in its own steps. */
async function showInstant(page: Page, at: string): Promise<void> {
  await page.getByRole("slider", { name: "Time", exact: true }).evaluate((input: HTMLInputElement, value) => {
    input.value = value;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  }, at);
}
