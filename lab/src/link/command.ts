// The command that repeats a run of the page on the command line, with the same digest.
import { overridesOf } from "../state/overrides";
import type { Settings } from "../state/lab";

/** A name for files: that of the scenario, without what file systems dislike. */
export function fileName(scenario: string): string {
  const name = /^name\s*=\s*"([^"]+)"/m.exec(scenario)?.[1] ?? "scenario";
  return name.replace(/[^\w.-]+/g, "-");
}

export function commandOf(scenario: string, settings: Settings): string {
  const sets = overridesOf(settings).map(([key, value]) => ` --set ${quoted(`${key}=${value}`)}`);
  return `incastle run ${fileName(scenario)}.toml${sets.join("")}`;
}

/** Quoted for a shell where it has to be. */
function quoted(argument: string): string {
  return /^[\w./:=-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
