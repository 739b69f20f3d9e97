// Opens the lab's page in Chromium, and prints what it measured as JSON: node page.mjs PAGE LINK RUNS
//
// Of the first run: the time from the start of loading to the first moving picture, frames per second while it runs,
// and packet-hops per second of the worker; these of the second run, too, whose code is compiled. After 2 runs and after
// RUNS: the memory of the page's process. At last the time from a click on Stop to the end of a run.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../lab/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const [folder, link, runs] = process.argv.slice(2);

// What a visitor would see, without a debugger: times of frames, and of the cursor's first step.
function watch() {
  const seen = { moved_ms: null, frames: 0, running_ms: 0 };
  let last = null;
  const frame = (now) => {
    const running = document.querySelector('.status')?.dataset.status === 'running';
    if (running && last !== null) {
      seen.frames += 1;
      seen.running_ms += now - last;
    }
    last = running ? now : null;
    const slider = document.querySelector('input[type=range]');
    if (seen.moved_ms === null && Number(slider?.value) > 0) seen.moved_ms = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
  window.seen = seen;
}

async function finished(page) {
  await page.waitForFunction(() => document.querySelector('.status')?.dataset.status === 'done', null, {
    timeout: 600_000,
  });
  return page.locator('.status').first().textContent();
}

/** Bytes of a line such as `VmRSS:  1234 kB` of the process that runs the page, without its garbage. */
async function resident(browser, page) {
  const debug = await page.context().newCDPSession(page);
  await debug.send('HeapProfiler.collectGarbage');
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  const sizes = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, 'utf8')))
    .map((match) => Number(match?.[1] ?? 0) * 1024);
  return Math.max(...sizes);
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.addInitScript(watch);
await page.goto(`${pathToFileURL(`${folder}/index.html`)}${link}`);
const line = await finished(page);
const seen = await page.evaluate('window.seen');
const memory = [];
let again = null;
for (let run = 2; run <= Number(runs); run += 1) {
  // Awaited from before the click: a run may be over when the click is.
  const begun = page.waitForFunction(() => document.querySelector('.status')?.dataset.status !== 'done');
  await page.getByRole('button', { name: 'Run again' }).click();
  await begun;
  const told = await finished(page);
  again ??= told;
  if (run === 2 || run === Number(runs)) memory.push(await resident(browser, page));
}

/** Stops a run a tenth of a second after its first picture; null where it was over by then. */
async function stop() {
  const named = (name) => [...document.querySelectorAll('button')].find((one) => one.textContent === name);
  const status = () => document.querySelector('.status').dataset.status;
  const pass = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const until = async (condition) => {
    while (!condition()) await pass(2);
  };
  named('Run again').click();
  await until(() => status() === 'running');
  await pass(100);
  if (status() !== 'running') return null;
  const begin = performance.now();
  named('Stop').click();
  await until(() => status() !== 'running');
  return performance.now() - begin;
}
const stopped_ms = await page.evaluate(stop);
console.log(JSON.stringify({ line, again, ...seen, memory, stopped_ms }));
await browser.close();
