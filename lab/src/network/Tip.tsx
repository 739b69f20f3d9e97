// Numbers of the port or node under the pointer.
import { counted, formatBytes, formatPercent, formatRate, formatTime } from "../page/units";
import { recordingOf } from "../page/useSide";
import type { Recording } from "../runs/recording";
import { time_s } from "../state/lab";
import type { SideName } from "../state/lab";
import { portMoment } from "./moment";
import type { PortMoment } from "./moment";
import type { Pointed } from "./NetworkView";

export function Tip({ side, pointed, width }: { side: SideName; pointed: Pointed; width: number }) {
  const recording = recordingOf(side);
  if (!pointed || !recording) return null;
  const lines =
    pointed.kind === "port" ? portLines(recording, pointed.index) : nodeLines(recording, pointed.index);
  const right = pointed.at.x > width / 2;
  const place = right ? { right: `${width - pointed.at.x + 14}px` } : { left: `${pointed.at.x + 14}px` };
  return (
    <div class="tip" style={{ ...place, top: `${pointed.at.y + 10}px` }}>
      {lines.map((line, i) => (
        <div key={i} class={i === 0 ? "tip-title" : ""}>
          {line}
        </div>
      ))}
    </div>
  );
}

function portLines(recording: Recording, port: number): string[] {
  const about = recording.picture.ports[port];
  if (!about) return [];
  const moment = portMoment(recording, port, time_s.value);
  return [
    about.name,
    `${formatRate(about.rate_bit_s)}, ${formatTime(about.delay_s)} one way`,
    `use ${formatPercent(moment.use)} (${formatRate(moment.rate_bit_s)})`,
    `queue ${counted(moment.queuePackets, "packet")}, ${formatBytes(moment.queueBytes)}`,
    ...(moment.pausedSoFar_s > 0 ? [pauseWords(moment)] : []),
    `${counted(moment.marksSoFar, "mark")}, ${counted(moment.dropsSoFar, "drop")} so far`,
  ];
}

function pauseWords({ paused, pausedSoFar_s }: PortMoment): string {
  return `paused ${formatPercent(paused)} of the time, ${formatTime(pausedSoFar_s)} so far`;
}

/** All ports of a node together. */
function nodeLines(recording: Recording, node: number): string[] {
  const about = recording.picture.nodes[node];
  if (!about) return [];
  const moments = recording.picture.ports.flatMap((port, i) =>
    port.from === node ? [portMoment(recording, i, time_s.value)] : [],
  );
  const sum = (of: (moment: (typeof moments)[number]) => number): number =>
    moments.reduce((total, moment) => total + of(moment), 0);
  return [
    about.name,
    `${about.kind} with ${counted(moments.length, "port")}`,
    `sends ${formatRate(sum((moment) => moment.rate_bit_s))}`,
    `queues ${formatBytes(sum((moment) => moment.queueBytes))}`,
  ];
}
