// A chart of lines over time, or of a distribution. All charts over time share the instant shown and the zoom.
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { effect } from "@preact/signals";
import { followSize } from "../page/resize";
import { theme } from "../page/theme";
import { seek } from "../state/clock";
import { playing, time_s, zoom } from "../state/lab";
import { aligned, heldAt } from "./aligned";
import type { LineSet } from "./lines";
import { PLOT_HEIGHT, options, shownRange } from "./options";
import { SaveChart } from "../save/SaveChart";

export interface ChartProps {
  title: string;
  set: LineSet;
  /** What the chart shows, in a sentence. */
  words: string;
  /** End of the x axis of a chart over time; undefined for a distribution. */
  until_s: number | undefined;
  /** Top of the y axis, where two runs share it. */
  top: number;
  /** Shown in place of lines when there are none. */
  empty: string;
  children?: ComponentChildren;
}

export function Chart(props: ChartProps) {
  const { title, set, words, until_s, empty } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const shape = JSON.stringify([
    title,
    set.unit,
    set.lines.map(({ name }) => name),
    theme.value,
    until_s === undefined,
  ]);
  const range = useRef({ until_s, top: props.top });
  range.current = { until_s, top: props.top };
  useEffect(() => {
    if (!box.current || set.lines.length === 0) return undefined;
    return make(box.current, plot, set, range);
  }, [shape]);
  useEffect(() => {
    plot.current?.setData(aligned(set.lines));
  });
  return (
    <figure class="chart" aria-label={title}>
      <div class="chart-head">
        <h3>{title}</h3>
        {set.lines.length > 0 && (
          <SaveChart figure={{ title, set, range: shownRange(until_s), top: props.top }} />
        )}
      </div>
      <div ref={box} class="plot" role="img" aria-label={`${title}. ${words}`} />
      {set.lines.length === 0 && <p class="faint empty">{empty}</p>}
      <figcaption>{words}</figcaption>
      {props.children}
    </figure>
  );
}

/** While the page plays, the numbers below a chart change after this time. */
const NUMBERS_MS = 100;

interface Held<T> {
  current: T;
}

export interface Range {
  until_s: number | undefined;
  top: number;
}

function make(
  box: HTMLDivElement,
  held: Held<uPlot | undefined>,
  set: LineSet,
  range: Held<Range>,
): () => void {
  const plot = new uPlot(options(set, range, box.clientWidth), aligned(set.lines), box);
  held.current = plot;
  const unobserve = followSize(box, () => {
    plot.setSize({ width: box.clientWidth, height: PLOT_HEIGHT });
  });
  const over = range.current.until_s !== undefined;
  const unfollow = over ? followTime(plot) : () => undefined;
  return () => {
    unfollow();
    unobserve();
    plot.destroy();
    held.current = undefined;
  };
}

/** The sample whose value the lines show at an instant. */
function sampleAt(plot: uPlot, time: number): number | null {
  const [from, to] = [plot.scales.x?.min ?? 0, plot.scales.x?.max ?? 0];
  return heldAt(plot.data[0], time, (to - from) / 50);
}

/** The line of the instant shown, clicks that move it, and the zoom. */
function followTime(plot: uPlot): () => void {
  const line = document.createElement("div");
  line.className = "now";
  plot.over.append(line);
  plot.over.addEventListener("click", (event) => {
    if (plot.select.width < 3) seek(plot.posToVal(event.offsetX, "x"));
  });
  let told_ms = -Infinity;
  const place = (): void => {
    const time = time_s.peek();
    const x = plot.valToPos(time, "x");
    line.style.transform = `translateX(${x}px)`;
    line.hidden = x < 0 || x > plot.bbox.width / uPlot.pxRatio;
    // Without a pointer the numbers below are those of the instant shown. Nobody reads them in every frame.
    const moving = playing.peek();
    if ((plot.cursor.left ?? -1) >= 0 || (moving && performance.now() - told_ms < NUMBERS_MS)) return;
    told_ms = performance.now();
    const sample = sampleAt(plot, time);
    plot.setLegend({ idxs: plot.series.map(() => sample) }, false);
  };
  // A chart takes its new scale when it is drawn, not before.
  (plot.hooks.draw ??= []).push(place);
  // A pointer that leaves takes its numbers with it.
  (plot.hooks.setCursor ??= []).push(place);
  const stopZoom = effect(() => {
    void zoom.value;
    plot.setData(plot.data);
  });
  const stopLine = effect(() => {
    void time_s.value;
    void playing.value;
    place();
  });
  return () => {
    stopZoom();
    stopLine();
  };
}
