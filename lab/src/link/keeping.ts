// Keeps the state of the page: in its address, so that the link in the address bar is always the right one, and in the
// browser's storage, so that nothing typed is lost.
import { batch, effect, signal } from "@preact/signals";
import type { Experiment } from "../gallery/experiment";
import { EXPERIMENTS } from "../gallery/experiments";
import {
  chartedFlows,
  chartedPorts,
  comparing,
  experiment,
  notice,
  open,
  openFirst,
  playing,
  settings,
  speed,
  text,
  time_s,
  zoom,
} from "../state/lab";
import { code, usesCode } from "../state/code";
import { beforeReload, store, storeForReload, stored } from "../state/storage";
import { linkOf, opened } from "./share";
import type { Shared } from "./share";

/** Typing and sliders change the state many times a second. */
const SETTLE_MS = 300;

/** The state at the start: that before a reload, that of the link, that of the last visit, or the first experiment. */
export function openPage(): void {
  const link = opened(leftBehind() ?? (location.hash || embeddedLink()));
  if (link.kind === "shared") {
    apply(link.shared);
    return;
  }
  if (link.kind === "problem") notice.value = link.message;
  const last = opened(stored("state") ?? "");
  if (last.kind === "shared") apply(last.shared);
  else openFirst();
}

/** What had not settled when the page was reloaded: the address has the state before it. */
function leftBehind(): string | undefined {
  const [address = "", link] = beforeReload("left")?.split(" ") ?? [];
  return link !== undefined && address === location.hash ? link : undefined;
}

/** A document inside a notebook has no address; its link stands in its head. */
function embeddedLink(): string {
  return document.querySelector<HTMLMetaElement>("meta[name=incastle-link]")?.content ?? "";
}

/** A scenario that somebody typed is kept when an experiment replaces it. */
export function openExperiment(chosen: Experiment): void {
  if (text.value !== experiment.value?.text) {
    const link = linkOf(snapshot());
    store("own", link);
    ownScenario.value = link;
  }
  open(chosen);
}

/** The link of the last scenario that was typed here. */
export const ownScenario = signal(stored("own"));

export function openOwn(): void {
  const own = opened(ownScenario.value ?? "");
  if (own.kind === "shared") apply({ ...own.shared, playing: true });
}

/** Another link in the same tab. */
export function followAddress(): void {
  window.addEventListener("hashchange", () => {
    const link = opened(location.hash);
    if (link.kind === "shared") apply(link.shared);
    if (link.kind === "problem") notice.value = link.message;
  });
}

export function keepState(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let first = true;
  const keep = (): void => {
    const link = linkOf(snapshot());
    store("state", link);
    try {
      history.replaceState(null, "", link);
    } catch {
      // A frame without an address has no link; the button still makes one.
    }
  };
  effect(() => {
    void snapshot();
    clearTimeout(timer);
    // The address changes only when somebody changes something.
    if (!first) timer = setTimeout(keep, SETTLE_MS);
    first = false;
  });
  window.addEventListener("pagehide", () => {
    storeForReload("left", `${location.hash} ${linkOf(snapshot())}`);
    keep();
  });
}

/** The address of the page as it is now. */
export function currentLink(): string {
  const { origin, pathname, protocol } = location;
  const page =
    protocol === "file:" ? `file://${pathname}` : protocol.startsWith("http") ? `${origin}${pathname}` : "";
  return page + linkOf(snapshot());
}

/** While the page plays, the instant shown is not worth keeping. */
export function snapshot(): Shared {
  return {
    ...(experiment.value ? { experiment: experiment.value.id } : {}),
    text: text.value,
    a: settings.a.value,
    b: settings.b.value,
    comparing: comparing.value,
    time_s: playing.value ? 0 : time_s.value,
    playing: playing.value,
    speed: speed.value,
    ...(needsCode() ? { code: code.value } : {}),
    ...(zoom.value ? { zoom: zoom.value } : {}),
    ...(chartedPorts.value ? { ports: chartedPorts.value } : {}),
    ...(chartedFlows.value ? { flows: chartedFlows.value } : {}),
  };
}

function needsCode(): boolean {
  const own = comparing.value ? [settings.a.value, settings.b.value] : [settings.a.value];
  return own.some((set) => usesCode(text.value, set));
}

/** Code from outside is shown; somebody has to allow it before it runs. */
function apply(shared: Shared): void {
  batch(() => {
    if (shared.code !== undefined) code.value = shared.code;
    experiment.value = EXPERIMENTS.find(({ id }) => id === shared.experiment);
    text.value = shared.text;
    settings.a.value = shared.a;
    settings.b.value = shared.b;
    comparing.value = shared.comparing;
    time_s.value = shared.time_s;
    playing.value = shared.playing;
    speed.value = shared.speed;
    zoom.value = shared.zoom;
    chartedPorts.value = shared.ports;
    chartedFlows.value = shared.flows;
  });
}
