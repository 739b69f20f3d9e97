// The picture in words: a table of the busiest ports at the instant shown. Screen readers and keyboards have the same
// numbers here as the pointer has in the picture, and choose ports for the charts.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { chartedIndices, toggleCharted } from "../charts/charted";
import { counted, formatCount, formatPercent, formatTime } from "../page/units";
import { recordingOf } from "../page/useSide";
import type { Recording } from "../runs/recording";
import { time_s } from "../state/lab";
import type { SideName } from "../state/lab";
import { portMoment } from "./moment";

const MOST_ROWS = 40;

/** Of two runs both tables are open, or none: their charts stay at one height. */
const open = signal(false);

export function NetworkWords({ side }: { side: SideName }) {
  return (
    <details open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>In words</summary>
      {open.value && <Table side={side} />}
    </details>
  );
}

function Table({ side }: { side: SideName }) {
  const recording = recordingOf(side);
  if (!recording) return null;
  const charted = new Set(chartedIndices(side));
  const pauses = recording.counts.hasPauses();
  const { nodes } = recording.picture;
  const hosts = nodes.filter((node) => node.kind === "host").length;
  return (
    <div class="words">
      <p>
        {counted(hosts, "host")}, {counted(nodes.length - hosts, "switch").replace("switchs", "switches")}.
        The ports with the longest queues of the run:
      </p>
      <table>
        <thead>
          <tr>
            <th scope="col">Port</th>
            <th scope="col">Use</th>
            <th scope="col">Queue, packets</th>
            <th scope="col">Marks so far</th>
            <th scope="col">Drops so far</th>
            {pauses && <th scope="col">Paused</th>}
            {pauses && <th scope="col">Paused so far</th>}
          </tr>
        </thead>
        <tbody>
          {byQueue(recording).map((port) => (
            <Row
              key={port}
              side={side}
              recording={recording}
              port={port}
              charted={charted.has(port)}
              pauses={pauses}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The name of a port may continue in a second line after its arrow. */
function breakable(name: string): ComponentChildren {
  const [from, to] = name.split("->");
  return (
    <>
      {from}-&gt;
      <wbr />
      {to}
    </>
  );
}

function byQueue(recording: Recording): number[] {
  const ports = recording.queues.map((queue, port) => ({ port, most: queue.maximum }));
  ports.sort((a, b) => b.most - a.most || a.port - b.port);
  return ports.slice(0, MOST_ROWS).map(({ port }) => port);
}

interface RowProps {
  side: SideName;
  recording: Recording;
  port: number;
  charted: boolean;
  pauses: boolean;
}

function Row({ side, recording, port, charted, pauses }: RowProps) {
  const name = recording.picture.ports[port]?.name ?? "";
  const moment = portMoment(recording, port, time_s.value);
  return (
    <tr>
      <th scope="row">
        <label>
          <input
            type="checkbox"
            checked={charted}
            onChange={() => {
              toggleCharted(side, name);
            }}
          />{" "}
          {breakable(name)}
        </label>
      </th>
      <td>{formatPercent(moment.use)}</td>
      <td>{formatCount(moment.queuePackets)}</td>
      <td>{formatCount(moment.marksSoFar)}</td>
      <td>{formatCount(moment.dropsSoFar)}</td>
      {pauses && <td>{formatPercent(moment.paused)}</td>}
      {pauses && <td>{formatTime(moment.pausedSoFar_s)}</td>}
    </tr>
  );
}
