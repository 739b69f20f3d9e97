// The charts of a run: queues, windows, rates, and the completion times once it is over.
import { computed, useComputed } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Recording } from "../runs/recording";
import { formatCount, formatTime } from "../page/units";
import { recordingOf } from "../page/useSide";
import { duration_s, shown, sides } from "../state/lab";
import type { SideName } from "../state/lab";
import { Chart } from "./Chart";
import { chartedIndices } from "./charted";
import { completionLines, percentile } from "./completions";
import type { Completions } from "./completions";
import { ExplainButtons } from "../explain/Explain";
import { Flows } from "./Flows";
import type { LineSet } from "./lines";
import { queueLines, rateLines, summary, windowLines } from "./lines";
import { formatOf } from "./options";

const NOTHING: LineSet = { lines: [], unit: "packets" };

export function Charts({ side }: { side: SideName }) {
  return (
    <div class="charts">
      <OverTime side={side} kind="queues" />
      <OverTime side={side} kind="windows">
        <ExplainButtons side={side} flows={setOf(side, "windows").lines.map(({ name }) => name)} />
        <Flows side={side} />
      </OverTime>
      <OverTime side={side} kind="rates" />
      <CompletionTimes side={side} />
    </div>
  );
}

type Kind = "queues" | "windows" | "rates";

/** Title of each kind, and what stands in place of lines when a run that is over has none. */
const KINDS: Record<Kind, { title: string; empty: string }> = {
  queues: { title: "Queues, packets", empty: "No queue was sampled in this run." },
  windows: {
    title: "Congestion windows",
    empty: "No flow here has a window or a rate of its congestion control.",
  },
  rates: { title: "Rates of links", empty: "No rate was sampled in this run." },
};

function OverTime({ side, kind, children }: { side: SideName; kind: Kind; children?: ComponentChildren }) {
  const set = setOf(side, kind);
  const { title, empty } = KINDS[kind];
  const isOver = sides[side].status.value.kind === "done";
  return (
    <Chart
      title={kind === "windows" && set.unit === "rate" ? "Sending rates" : title}
      set={set}
      words={words(set)}
      until_s={duration_s()}
      top={topOf(kind, set.unit)}
      empty={isOver ? empty : "No samples yet."}
    >
      {children}
    </Chart>
  );
}

function setOf(side: SideName, kind: Kind): LineSet {
  return sets[side][kind].value;
}

/** Two charts of a kind share a scale, so both sides ask for both sets. */
const sets = { a: setsOf("a"), b: setsOf("b") };

function setsOf(side: SideName): Record<Kind, ReadonlySignal<LineSet>> {
  const of = (lines: (recording: Recording) => LineSet): ReadonlySignal<LineSet> =>
    computed(() => {
      const recording = recordingOf(side);
      return recording ? lines(recording) : NOTHING;
    });
  return {
    queues: of((recording) => queueLines(recording, chartedIndices(side))),
    windows: of(windowLines),
    rates: of((recording) => rateLines(recording, chartedIndices(side))),
  };
}

/** Two runs have one scale, so that their heights compare; windows do not compare with rates. */
function topOf(kind: Kind, unit: LineSet["unit"]): number {
  const sets = shown().map((side) => setOf(side, kind));
  const alike = sets.filter((set) => set.unit === unit);
  return Math.max(1, ...alike.flatMap(({ lines }) => lines.map(({ maximum }) => maximum)));
}

function words({ lines, unit }: LineSet): string {
  const first = lines[0];
  if (!first || first.x.length === 0) return "";
  const format = formatOf(unit);
  const { mean, maximum, at } = summary(first);
  return `${first.name}: ${format(mean)} on average, at most ${format(maximum)}, at ${formatTime(at)}.`;
}

function CompletionTimes({ side }: { side: SideName }) {
  const lines = useComputed(() => {
    const status = sides[side].status.value;
    return status.kind === "done" ? completionLines(status.outcome) : [];
  });
  const isOver = sides[side].status.value.kind === "done";
  return (
    <Chart
      title="Completion times"
      set={{ lines: lines.value, unit: "part" }}
      words={lines.value.map(completionWords).join(" ")}
      until_s={undefined}
      top={1}
      empty={isOver ? "No transfer was complete in this run." : "Shown when the run is over."}
    />
  );
}

/** Those that were incomplete at the end would have taken longest: they are counted. */
function completionWords(line: Completions): string {
  const { name, complete, all } = line;
  const of = complete < all ? `${formatCount(complete)} of ${formatCount(all)} complete; of these, ` : "";
  return `${name}: ${of}half within ${formatTime(percentile(line, 0.5))}, 99 % within ${formatTime(percentile(line, 0.99))}.`;
}
