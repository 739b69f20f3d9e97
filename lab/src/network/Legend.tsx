// What the picture's colours and shapes mean.
import { palette } from "../page/theme";
import { formatBytes } from "../page/units";

export function Legend({ fullQueue, pauses }: { fullQueue: number; pauses: boolean }) {
  const { use, queue, mark, drop, pause } = palette();
  return (
    <ul class="legend">
      <li>
        <svg width="70" height="10" aria-hidden="true">
          {use.map((colour, i) => (
            <rect key={colour} x={i * 10} width="10" height="10" fill={colour} />
          ))}
        </svg>
        use of a link, 0 to 100 %
      </li>
      <li>
        <svg width="26" height="10" aria-hidden="true">
          <rect width="16" height="10" fill={queue} />
          <rect x="0.5" y="0.5" width="25" height="9" fill="none" stroke="currentColor" />
        </svg>
        queue of a port, full bar {formatBytes(fullQueue)}
      </li>
      <li>
        <svg width="12" height="12" aria-hidden="true">
          <circle cx="6" cy="6" r="4.5" fill="none" stroke={mark} stroke-width="2" />
        </svg>
        marks
      </li>
      <li>
        <svg width="12" height="12" aria-hidden="true">
          <path d="M1 1 L11 11 M11 1 L1 11" stroke={drop} stroke-width="2" />
        </svg>
        drops
      </li>
      {pauses && (
        <li>
          <svg width="12" height="12" aria-hidden="true">
            <path d="M3 0 V12 M9 0 V12" stroke={pause} stroke-width="2.5" />
          </svg>
          paused by PFC
        </li>
      )}
      <li class="faint">Click a link to chart its port.</li>
    </ul>
  );
}
