// The code of the page's own controllers, and whether it may run: what somebody typed here may, what a link brought only
// after a look at it.
import { computed, signal } from "@preact/signals";
import { classNames } from "../control/source";
import { TEMPLATES } from "../control/templates";
import type { Settings } from "./lab";
import { store, stored } from "./storage";

export const code = signal(stored("code") ?? TEMPLATES[0]?.source ?? "");

/** The code that somebody has allowed here: this very text. */
const allowed = signal(stored("allowed") ?? TEMPLATES[0]?.source);

export const isAllowed = computed(() => code.value === allowed.value);

/** Names that a scenario can use. */
export const classes = computed(() => classNames(code.value));

/** Somebody has typed, or has pressed the button. */
export function allow(source: string): void {
  code.value = source;
  allowed.value = source;
  store("code", source);
  store("allowed", source);
}

/** Settings that make a run of a scenario use a class of the page. TCP echoes each mark, as for DCTCP; RDMA always does. */
export function settingsOf(name: string, scenario: string): Settings {
  const rdma = /^\s*kind\s*=\s*"rdma"/m.test(scenario);
  return {
    "transport.congestion": "custom",
    "transport.controller": name,
    ...(rdma ? {} : { "transport.ecn": "dctcp" }),
  };
}

/** Whether a run needs the code. */
export function usesCode(text: string, set: Settings): boolean {
  const own = set["transport.congestion"];
  return own === undefined ? /^\s*congestion\s*=\s*"custom"/m.test(text) : own === "custom";
}

export const NOT_ALLOWED =
  "This link brings the code of a congestion control. Read it under “Control”; the button there runs it.";
