// The values that a scenario has for the keys of the gallery's controls, so that sliders start where its text is.
import { parse } from "smol-toml";
import type { TomlTable } from "smol-toml";
import type { Choice, Option, Slider } from "./experiment";
import type { Settings } from "../state/lab";

/** The scenario as a table, or undefined while its text cannot be parsed. */
export function tableOf(text: string): TomlTable | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** The value of a key as text: that of the settings, else that of the scenario. */
export function valueOf(key: string, settings: Settings, table: TomlTable | undefined): string | undefined {
  const set = settings[key];
  if (set !== undefined) return set;
  let value: unknown = table;
  for (const part of key.split(".")) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return typeof value === "string"
    ? value
    : typeof value === "number" || typeof value === "boolean"
      ? `${value}`
      : undefined;
}

/** The number in front of a slider's unit; undefined if the scenario has another unit or no such key. */
export function positionOf(
  slider: Slider,
  settings: Settings,
  table: TomlTable | undefined,
): number | undefined {
  const value = valueOf(slider.key, settings, table)?.trim();
  if (value === undefined) return undefined;
  const match = /^([0-9.]+)\s*(.*)$/.exec(value);
  if (!match) return undefined;
  const [, number, unit] = match;
  return unit === slider.unit ? Number(number) : undefined;
}

/** A slider's position as the scenario language writes it. */
export function settingOf(slider: Slider, position: number): string {
  const decimals = Math.max(0, Math.ceil(-Math.log10(slider.step)));
  const number = position.toFixed(decimals);
  return slider.unit === "" ? number : `${number} ${slider.unit}`;
}

/** The option whose keys all have its values. */
export function chosenOption(
  choice: Choice,
  settings: Settings,
  table: TomlTable | undefined,
): Option | undefined {
  return choice.options.find((option) =>
    Object.entries(option.set).every(([key, value]) => matches(key, value, settings, table)),
  );
}

function matches(key: string, value: string, settings: Settings, table: TomlTable | undefined): boolean {
  const now = valueOf(key, settings, table);
  if (now !== undefined) return now === value;
  // A table of the scenario, such as switch.qcn, has the option that is written as a table with its variant.
  const variant = /variant = "(\w+)"/.exec(value)?.[1];
  return variant !== undefined && valueOf(`${key}.variant`, {}, table) === variant;
}
