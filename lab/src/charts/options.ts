// How a chart looks: axes with units, lines that differ in colour and in dashes, numbers under the pointer.
import uPlot from "uplot";
import { palette } from "../page/theme";
import { formatBytes, formatNumber, formatPercent, formatRate, formatTime } from "../page/units";
import { logarithmicTicks } from "../save/ticks";
import { time_s, zoom } from "../state/lab";
import type { Range } from "./Chart";
import type { LineSet } from "./lines";

/** Height of the plot, without the numbers below it. */
export const PLOT_HEIGHT = 138;

// uPlot declares this as an enumeration that exists for types only.
// eslint-disable-next-line @typescript-eslint/no-unsafe-enum-assignment
const LOGARITHMIC = 3 as uPlot.Scale.Distr;

/** Room for the numbers of the axes. */
const BOTTOM = 22;
const LEFT = 74;

/** Pixels that a label of the x axis needs. */
const LABEL = 60;

/** As many labels as there is room for: uPlot alone labels powers of ten, of which a distribution may have one. */
const LOGARITHMIC_TICKS: uPlot.Axis = {
  splits: (plot, _, from, to) => logarithmicTicks(from, to, Math.floor(plot.over.clientWidth / LABEL)),
  filter: (_, splits) => splits,
};

const DASHES: readonly number[][] = [[], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [1, 3]];

export function formatOf(unit: LineSet["unit"]): (value: number) => string {
  switch (unit) {
    case "bytes":
      return formatBytes;
    case "packets":
      return formatNumber;
    case "rate":
      return formatRate;
    case "part":
      return formatPercent;
  }
}

export function options(set: LineSet, range: { current: Range }, width: number): uPlot.Options {
  const distribution = range.current.until_s === undefined;
  return {
    width,
    height: PLOT_HEIGHT,
    padding: [6, 26, 0, 0],
    scales: {
      x: {
        time: false,
        ...(distribution
          ? { distr: LOGARITHMIC }
          : { range: () => shownRange(range.current.until_s) ?? [0, 1] }),
      },
      y: { range: () => [0, Math.max(range.current.top * 1.05, Number.MIN_VALUE)] },
    },
    axes: [
      { ...axis(formatTime, BOTTOM), ...(distribution ? LOGARITHMIC_TICKS : {}) },
      axis(formatOf(set.unit), LEFT),
    ],
    series: [
      distribution
        ? { label: "within", value: (_, value) => text(formatTime, value) }
        : { label: "at", value: instant },
      ...lineOptions(set),
    ],
    cursor: {
      drag: { x: !distribution, y: false, setScale: false },
      ...(distribution ? {} : { sync: { key: "time" } }),
    },
    legend: { live: true, markers: { width: 2 } },
    hooks: distribution ? {} : { setSelect: [zoomTo] },
  };
}

/** The part of the run that charts over time show; undefined for a distribution. */
export function shownRange(until_s: number | undefined): [number, number] | undefined {
  if (until_s === undefined) return undefined;
  const [from, to] = zoom.value ?? [0, until_s];
  return [from, to];
}

const STEPPED = uPlot.paths.stepped?.({ align: 1 });
const LINEAR = uPlot.paths.linear?.();

/** Queues and windows keep their value until it changes. Where a pixel has several samples no step is seen: uPlot's
 *  straight lines then draw the least and the greatest of each pixel, a fraction of the work. */
const paths: uPlot.Series.PathBuilder = (plot, series, from, to) => {
  const build = to - from > plot.bbox.width ? LINEAR : STEPPED;
  return build?.(plot, series, from, to) ?? null;
};

function lineOptions(set: LineSet): uPlot.Series[] {
  const colours = palette().series;
  return set.lines.map(({ name }, i) => ({
    label: name,
    stroke: colours[i % colours.length] ?? "",
    width: 1.5,
    dash: DASHES[i % DASHES.length] ?? [],
    spanGaps: true,
    paths,
    points: { show: false },
    value: (_: uPlot, value: number | null) => text(formatOf(set.unit), value),
  }));
}

/** Below a pointer the instant of the sample there; else the instant shown, although its sample may be older. */
function instant(plot: uPlot, sample: number | null): string {
  const isPointed = (plot.cursor.left ?? -1) >= 0;
  return text(formatTime, sample === null || isPointed ? sample : time_s.peek());
}

function text(format: (value: number) => string, value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : format(value);
}

function axis(format: (value: number) => string, size: number): uPlot.Axis {
  const { faint, grid } = palette();
  return {
    size,
    space: size === LEFT ? 28 : LABEL,
    stroke: faint,
    font: "11px system-ui, sans-serif",
    grid: { stroke: grid, width: 1 },
    ticks: { stroke: grid, width: 1, size: 4 },
    values: (_, splits) => splits.map((value: number | null) => (value === null ? "" : format(value))),
  };
}

/** Dragging selects the part of the run that all charts show. */
function zoomTo(plot: uPlot): void {
  const { left, width } = plot.select;
  if (width < 3) return;
  zoom.value = [plot.posToVal(left, "x"), plot.posToVal(left + width, "x")];
  plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
}
