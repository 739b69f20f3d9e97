// The flows in the chart of windows: those that the page chose, or the user's own.
import { MOST_LINES, chartedFlowIndices } from "./charted";
import { recordingOf } from "../page/useSide";
import { chartedFlows } from "../state/lab";
import type { SideName } from "../state/lab";

/** Names that the browser offers while somebody types. */
const OFFERED = 500;

export function Flows({ side }: { side: SideName }) {
  const recording = recordingOf(side);
  if (!recording || recording.flowNames.length <= 1) return null;
  const names = chartedFlowIndices(recording).map((flow) => recording.flowNames[flow] ?? "");
  const list = `flows-${side}`;
  return (
    <details>
      <summary>Choose flows</summary>
      <div class="flows">
        {names.map((name) => (
          <button
            key={name}
            type="button"
            class="small"
            aria-label={`Remove ${name}`}
            onClick={() => (chartedFlows.value = names.filter((other) => other !== name))}
          >
            {name} ×
          </button>
        ))}
        <label>
          Add{" "}
          <input
            list={list}
            placeholder={recording.flowNames[0]}
            onChange={(event) => {
              const added = event.currentTarget.value;
              event.currentTarget.value = "";
              if (recording.flowNames.includes(added))
                chartedFlows.value = [...names, added].slice(-MOST_LINES);
            }}
          />
        </label>
        <datalist id={list}>
          {recording.flowNames.slice(0, OFFERED).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        {chartedFlows.value && (
          <button type="button" class="small" onClick={() => (chartedFlows.value = undefined)}>
            Let the page choose
          </button>
        )}
      </div>
    </details>
  );
}
