// The state of the page: the scenario, the settings of both runs, and the view. All of it is in the link (see link/), and
// survives a reload.
import { batch, signal } from "@preact/signals";
import { EXPERIMENTS } from "../gallery/experiments";
import type { Experiment } from "../gallery/experiment";
import { Side } from "./side";

/** Values by key, as `incastle run --set key=value` takes them. */
export type Settings = Readonly<Record<string, string>>;

export type SideName = "a" | "b";

export const experiment = signal<Experiment | undefined>(undefined);
export const text = signal("");
export const settings = { a: signal<Settings>({}), b: signal<Settings>({}) };
export const comparing = signal(false);

/** The instant shown. */
export const time_s = signal(0);
export const playing = signal(true);
/** Of the speed at which a run takes ten seconds. */
export const speed = signal(1);
/** The part of the run that the charts show; undefined is all of it. */
export const zoom = signal<readonly [from_s: number, to_s: number] | undefined>(undefined);
/** Names of the ports and flows in the charts; undefined lets the page choose. */
export const chartedPorts = signal<readonly string[] | undefined>(undefined);
export const chartedFlows = signal<readonly string[] | undefined>(undefined);

/** One message above the page: what is wrong, and what to do. */
export const notice = signal<string | undefined>(undefined);

export const sides: Record<SideName, Side> = { a: new Side(), b: new Side() };

/** The sides on the page. */
export function shown(): SideName[] {
  return comparing.value ? ["a", "b"] : ["a"];
}

/** Opens an experiment of the gallery as it was written. */
export function open(chosen: Experiment): void {
  batch(() => {
    experiment.value = chosen;
    text.value = chosen.text;
    settings.a.value = {};
    settings.b.value = chosen.other ?? {};
    comparing.value = false;
    rewind();
  });
}

export function openFirst(): void {
  const first = EXPERIMENTS[0];
  if (first) open(first);
}

/** The view of a run that has not been looked at. */
export function rewind(): void {
  time_s.value = 0;
  playing.value = true;
  zoom.value = undefined;
  chartedPorts.value = undefined;
  chartedFlows.value = undefined;
}

export function set(side: SideName, changes: Settings): void {
  settings[side].value = { ...settings[side].value, ...changes };
}

/** Removes settings, so that the scenario's own values count again. */
export function reset(side: SideName): void {
  settings[side].value = {};
}

/** Duration of the longer run on the page. */
export function duration_s(): number {
  return Math.max(0, ...shown().map((name) => sides[name].recording.value?.picture.duration_s ?? 0));
}

/** How far the page can play: a side that still runs holds the other back. */
export function reached_s(): number {
  const reached = shown().map((name) => sides[name].reached_s);
  const running = shown().some((name) => sides[name].status.value.kind === "running");
  return running ? Math.min(...reached) : Math.max(...reached);
}
