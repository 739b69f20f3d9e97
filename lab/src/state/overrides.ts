// Settings as the engine takes them: pairs in the order of their keys, so that equal settings are one run.
import type { Override } from "../worker/protocol";
import type { Settings } from "./lab";

export function overridesOf(settings: Settings): Override[] {
  return Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1));
}
