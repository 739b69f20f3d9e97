// A chart as a drawing of its own (SVG), in the light theme: for papers and slides.
import type { Line, LineSet } from "../charts/lines";
import { formatOf } from "../charts/options";
import { PALETTES } from "../page/theme";
import { formatTime } from "../page/units";
import { escaped } from "./svg-pen";
import { decades, logarithmicTicks, ticks } from "./ticks";

export const WIDTH = 720;
const PLOT = { left: 86, right: 30, top: 34, height: 260 };
const LINE_HEIGHT = 18;

const DASHES = ["", "6 3", "2 2", "8 3 2 3", "12 4", "1 3"];

export interface Figure {
  title: string;
  set: LineSet;
  /** The part of the run; undefined for a distribution over a logarithm of time. */
  range: readonly [number, number] | undefined;
  top: number;
}

export function svgOf(figure: Figure): string {
  const { lines } = figure.set;
  const height = PLOT.top + PLOT.height + 30 + lines.length * LINE_HEIGHT;
  const { text } = PALETTES.light;
  const style = `font-family="system-ui, sans-serif" font-size="12" fill="${text}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ${style}>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<text x="${PLOT.left}" y="20" font-size="15" font-weight="600">${escaped(figure.title)}</text>`,
    ...parts(figure),
    "</svg>",
  ].join("\n");
}

/** Positions in pixels of values on both axes. */
interface Scales {
  x: (value: number) => number;
  y: (value: number) => number;
}

function parts(figure: Figure): string[] {
  const range = figure.range ?? logarithmicRange(figure.set.lines);
  const scales = scalesOf(range, figure.range === undefined, figure.top);
  const xs = figure.range ? ticks(...figure.range) : logarithmicTicks(...range);
  const format = formatOf(figure.set.unit);
  return [
    ...xs.map((value) => tickX(scales.x(value), formatTime(value))),
    ...ticks(0, figure.top, 5).map((value) => tickY(scales.y(value), format(value))),
    clip(),
    ...figure.set.lines.map((line, i) => curve(line, scales, i)),
    ...figure.set.lines.map((line, i) => entry(line.name, i)),
  ];
}

function logarithmicRange(lines: readonly Line[]): [number, number] {
  const firsts = lines.map((line) => line.x[0] ?? 1);
  const lasts = lines.map((line) => line.x[line.x.length - 1] ?? 1);
  const powers = decades(Math.min(...firsts), Math.max(...lasts));
  return [powers[0] ?? 1e-6, powers.at(-1) ?? 1];
}

function scalesOf([from, to]: readonly [number, number], logarithmic: boolean, top: number): Scales {
  const map = logarithmic ? Math.log10 : (value: number): number => value;
  const width = WIDTH - PLOT.left - PLOT.right;
  return {
    x: (value) => PLOT.left + ((map(value) - map(from)) / (map(to) - map(from))) * width,
    y: (value) => PLOT.top + PLOT.height * (1 - value / top),
  };
}

/** In steps, as on the page: a value counts until the next one. */
function curve(line: Line, { x, y }: Scales, i: number): string {
  const points: string[] = [];
  for (let k = 0; k < line.x.length; k += 1) {
    const at = round(x(line.x[k] ?? 0));
    if (k > 0) points.push(`${at},${round(y(line.y[k - 1] ?? 0))}`);
    points.push(`${at},${round(y(line.y[k] ?? 0))}`);
  }
  return `<polyline clip-path="url(#plot)" fill="none" ${strokeOf(i)} points="${points.join(" ")}"/>`;
}

function strokeOf(i: number): string {
  const colours = PALETTES.light.series;
  return `stroke="${colours[i % colours.length] ?? ""}" stroke-width="1.5" stroke-dasharray="${DASHES[i % DASHES.length] ?? ""}"`;
}

function entry(name: string, i: number): string {
  const y = PLOT.top + PLOT.height + 34 + i * LINE_HEIGHT;
  return `<path d="M${PLOT.left} ${y} h30" ${strokeOf(i)}/><text x="${PLOT.left + 38}" y="${y + 4}">${escaped(name)}</text>`;
}

function clip(): string {
  const width = WIDTH - PLOT.left - PLOT.right;
  return `<clipPath id="plot"><rect x="${PLOT.left}" y="${PLOT.top}" width="${width}" height="${PLOT.height}"/></clipPath>`;
}

function tickX(x: number, text: string): string {
  const bottom = PLOT.top + PLOT.height;
  return `<path d="M${round(x)} ${PLOT.top} V${bottom}" stroke="${PALETTES.light.grid}"/><text x="${round(x)}" y="${bottom + 16}" text-anchor="middle">${text}</text>`;
}

function tickY(y: number, text: string): string {
  return `<path d="M${PLOT.left} ${round(y)} H${WIDTH - PLOT.right}" stroke="${PALETTES.light.grid}"/><text x="${PLOT.left - 6}" y="${round(y) + 4}" text-anchor="end">${text}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
