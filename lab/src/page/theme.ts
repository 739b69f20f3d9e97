// Colours of canvas and charts. The series have the colours of Okabe and Ito, which the colour-blind tell apart; the pairs
// for use and drops differ in brightness as well.
import { signal, effect } from "@preact/signals";
import { stored, store } from "../state/storage";

export type Theme = "light" | "dark";

export interface Palette {
  background: string;
  text: string;
  faint: string;
  grid: string;
  node: string;
  idleLink: string;
  /** A link's use from nothing to everything. */
  use: readonly string[];
  queue: string;
  mark: string;
  drop: string;
  pause: string;
  series: readonly string[];
}

const SERIES_LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#946800", "#3a8fc4", "#555555", "#000000"];
const SERIES_DARK = ["#56b4e9", "#e69f00", "#2fc79a", "#e39bc4", "#f0e442", "#f28c4a", "#aaaaaa", "#ffffff"];

export const PALETTES: Record<Theme, Palette> = {
  light: {
    background: "#ffffff",
    text: "#1b2530",
    faint: "#5a6673",
    grid: "#e3e7eb",
    node: "#33414f",
    idleLink: "#d5dbe1",
    use: ["#d5dbe1", "#a9c9e4", "#7cb3dc", "#4a9ad0", "#1f7fbd", "#0067a6", "#00507f"],
    queue: "#e69f00",
    mark: "#8a2d78",
    drop: "#b3261e",
    pause: "#006b4f",
    series: SERIES_LIGHT,
  },
  dark: {
    background: "#141a21",
    text: "#e8edf2",
    faint: "#a3b0bd",
    grid: "#2a333d",
    node: "#c3cdd7",
    idleLink: "#34404c",
    use: ["#34404c", "#35566f", "#3a6f94", "#428abb", "#56a8de", "#84c4ee", "#bfe2fa"],
    queue: "#f0a820",
    mark: "#e39bd4",
    drop: "#ff7a6e",
    pause: "#2fc79a",
    series: SERIES_DARK,
  },
};

const system = window.matchMedia("(prefers-color-scheme: dark)");
const chosen = stored("theme");
export const theme = signal<Theme>(
  chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light",
);

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  store("theme", theme.value);
}

/** The style sheet reads the theme from the root element. */
export function followTheme(): void {
  effect(() => {
    document.documentElement.dataset.theme = theme.value;
  });
}

export function palette(): Palette {
  return PALETTES[theme.value];
}
