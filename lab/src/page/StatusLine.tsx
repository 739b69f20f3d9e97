// One line for each run: under way, done with its digest, or refused with the first mistake.
import { duration_s, sides } from "../state/lab";
import type { SideName } from "../state/lab";
import type { Status } from "../state/side";
import { left_s } from "../state/speed";
import type { Diagnostic } from "../worker/protocol";
import { counted, formatCount, formatPercent, formatTime, formatWait } from "./units";
import { recordingOf } from "./useSide";

export function StatusLine({ side }: { side: SideName }) {
  return (
    <div>
      <p class="status" role="status" data-status={sides[side].status.value.kind}>
        <Words side={side} />
      </p>
      <Notes side={side} />
    </div>
  );
}

/** What the engine notes on the numbers of a run, such as transfers that were not complete. */
function Notes({ side }: { side: SideName }) {
  const status = sides[side].status.value;
  if (status.kind !== "done" || status.outcome.notes.length === 0) return null;
  return (
    <details class="notes">
      <summary>{counted(status.outcome.notes.length, "note")} on this run</summary>
      <ul>
        {status.outcome.notes.map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
    </details>
  );
}

function Words({ side }: { side: SideName }) {
  const status = sides[side].status.value;
  switch (status.kind) {
    case "waiting":
      return <>Starting…</>;
    case "running":
      return <Running side={side} status={status} />;
    case "stopped":
      return <>Stopped after {formatTime(recordingOf(side)?.reached_s ?? 0)} of the run.</>;
    case "refused":
      return <span class="bad">{refusal(status.diagnostics[0])}</span>;
    case "failed":
      return <span class="bad">{status.message}</span>;
    case "done":
      return <Done status={status} reached_s={recordingOf(side)?.reached_s ?? 0} />;
  }
}

/** Nobody waits longer without asking what would be quicker. */
const LONG_S = 60;

function Running({ side, status }: { side: SideName; status: Extract<Status, { kind: "running" }> }) {
  const whole = duration_s();
  const part = whole > 0 ? (recordingOf(side)?.reached_s ?? 0) / whole : 0;
  const left = left_s(part, (performance.now() - status.began_ms) / 1000, status.expected_s);
  return (
    <>
      Simulating: {formatPercent(part)}, about {formatWait(left)} left.
      {left > LONG_S &&
        " A shorter run.duration, lower rates or fewer flows are quicker; Stop keeps what is there."}
    </>
  );
}

function refusal(first: Diagnostic | undefined): string {
  if (!first) return "The scenario has a mistake: see “Scenario”.";
  const where = first.line > 0 ? `Line ${first.line}: ` : "";
  return `${where}${first.message}${first.help ? ` (${first.help})` : ""}`;
}

function Done({ status, reached_s }: { status: Extract<Status, { kind: "done" }>; reached_s: number }) {
  const { outcome, wall_s, packet_hops } = status;
  if (outcome.interrupted) return <>Stopped after {formatTime(reached_s)} of the run.</>;
  const { drops, marks } = outcome.totals;
  return (
    <>
      {formatTime(reached_s)} simulated in {formatTime(wall_s)}, {counted(packet_hops, "packet-hop")}
      {drops !== undefined && `, ${counted(drops, "drop")}`}
      {marks !== undefined && `, ${counted(marks, "mark")}`}
      {missed(outcome.totals)}. Digest{" "}
      <code class="digest" title="Equal runs have equal digests, here and on the command line">
        {outcome.digest}
      </code>
    </>
  );
}

function missed(totals: Record<string, number>): string {
  const missed = totals.missed_deadlines ?? 0;
  const met = totals.met_deadlines ?? 0;
  return missed + met > 0 ? `, ${formatCount(missed)} of ${counted(missed + met, "deadline")} missed` : "";
}
