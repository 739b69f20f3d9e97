// The lesson in the page: each step opens its runs, and they show the numbers that its answer has.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { expect, it } from "vitest";
import { STEPS } from "../src/lesson/steps";
import { describeLab } from "./lab";
import { digest } from "./page";

/** What the page says in each step, and the words of it that the answer repeats. Averages of rates depend a little on the
 *  points of the chart. */
const SHOWN: readonly (readonly [shown: string | RegExp, answered: string])[][] = [
  [
    ["left->right: 19.5 on average", "19.5"],
    ["left->right: 66.3 on average", "66.3"],
  ],
  [
    [/left->right: 49[3-5] Mbit\/s on average/, "494 Mbit/s"],
    [/left->right: 46[56] Mbit\/s on average/, "466 Mbit/s"],
  ],
  [
    [/message \(rounds\): .*half within 355 us/, "355 us"],
    [/message \(rounds\): .*half within 240 us/, "240 us"],
  ],
  [
    [/switch->receiver: 21[56] Mbit\/s on average/, "216 Mbit/s"],
    [/storage \(rounds\): .*half within 204 ms/, "204 ms"],
  ],
  [
    ["2,259 drops", "2,259 drops"],
    ["201,034 packet-hops, 0 drops", "drops nothing"],
  ],
  [
    [/victim: .*half within 15\.8 us, 99 % within 613 us/, "613 us"],
    [/victim: .*half within 10\.2 us, 99 % within 52\.7 us/, "52.7 us"],
  ],
  [
    [/leaf:0->spine:1: 7\.3\d? Gbit\/s on average/, "7.3 Gbit/s"],
    [/leaf:0->spine:1: 50(\.\d)? Gbit\/s on average/, "50."],
  ],
];

describeLab("the lesson", (lab) => {
  it("shows in each step the numbers of its answer", async () => {
    const { page, said } = await lab.open();
    await digest(page);
    await page.getByRole("button", { name: "Lesson in 20 minutes" }).click();
    for (const [index, step] of STEPS.entries()) {
      await page.getByText(`Step ${index + 1} of ${STEPS.length}`).waitFor();
      await page.locator(`#experiment[data-id="${step.experiment}"]`).waitFor();
      await bothDone(page, step.b ? 2 : 1);
      for (const [shown, answered] of SHOWN[index] ?? []) {
        await page.locator("main").getByText(shown).first().waitFor({ timeout: 10_000 });
        expect(step.answer.join(" ")).toContain(answered);
      }
      const last = index === STEPS.length - 1;
      const row = page.locator(".lesson-buttons");
      expect(await row.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
      await page.getByRole("button", { name: last ? "Exercises" : "Next", exact: true }).click();
    }
    await page.getByRole("button", { name: "Lesson in 20 minutes" }).waitFor();
    const exercises = page.locator(".exercises > summary");
    expect(await exercises.evaluate((summary) => summary === document.activeElement)).toBe(true);
    await page.locator("summary", { hasText: "1. The least K" }).click();
    await page.getByText("Which is the least K").waitFor();
    await page.getByRole("button", { name: "Open “Choose the marking threshold K”" }).click();
    await page.locator('#experiment[data-id="choose-k"]').waitFor();
    expect(said).toEqual([]);
    await page.context().close();
  });

  it("works by keyboard, keeps its step over a reload, and restores it", async () => {
    const { page } = await lab.open();
    await digest(page);
    await page.getByRole("button", { name: "Lesson in 20 minutes" }).press("Enter");
    const next = page.getByRole("button", { name: "Next", exact: true });
    await next.press("Enter");
    await next.press("Enter");
    await page.getByText("Step 3 of 7").waitFor();
    expect(await next.evaluate((button) => button === document.activeElement)).toBe(true);
    await bothDone(page, 2);
    await page.getByLabel("Compare", { exact: true }).click();
    await page.goto("about:blank");
    await page.goto(lab.address);
    await page.getByText("Step 3 of 7").waitFor();
    await bothDone(page, 1);
    await page.getByRole("button", { name: "Restore" }).click();
    await bothDone(page, 2);
    await page.selectOption("#experiment", "qcn");
    await page.getByText("Another experiment is open").waitFor();
    await next.press("Enter");
    await page.locator('#experiment[data-id="incast-collapse"]').waitFor();
    await page.context().close();
  });

  it.each(["light", "dark"] as const)("has no serious fault that axe finds (%s)", async (colorScheme) => {
    const { page } = await lab.open(lab.address, { colorScheme });
    await page.getByText("Exercises", { exact: true }).click();
    await page.getByText("2. A buffer for NewReno").click();
    expect(await faults(page)).toEqual([]);
    await page.getByRole("button", { name: "Lesson in 20 minutes" }).click();
    await page.getByText("Answer", { exact: true }).click();
    await bothDone(page, 2);
    expect(await faults(page)).toEqual([]);
    await page.context().close();
  });
});

interface Fault {
  id: string;
  impact: string;
}

async function faults(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8"));
  const found = await page.evaluate<{ violations: Fault[] }>("axe.run()");
  return found.violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id }) => id);
}

async function bothDone(page: Page, runs: number): Promise<void> {
  await page.waitForFunction(
    (count) =>
      document.querySelectorAll(".status").length === count &&
      document.querySelectorAll('.status[data-status="done"]').length === count,
    runs,
    { timeout: 60_000 },
  );
}
