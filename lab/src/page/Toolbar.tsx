// Play, the time slider, slow motion, stop; and comparing.
import { seek, togglePlay } from "../state/clock";
import { comparing, duration_s, playing, reached_s, shown, sides, speed, time_s, zoom } from "../state/lab";
import { again } from "../state/runs";
import { zoomIn, zoomOut } from "../state/zoom";
import { recordingOf } from "./useSide";
import { clock } from "./units";

const SPEEDS: readonly (readonly [value: number, label: string])[] = [
  [4, "× 4"],
  [1, "× 1"],
  [1 / 4, "× 1/4"],
  [1 / 16, "× 1/16"],
  [1 / 64, "× 1/64"],
  [1 / 256, "× 1/256"],
  [1 / 1024, "× 1/1024"],
];

export function Toolbar() {
  shown().forEach(recordingOf);
  const whole = duration_s();
  return (
    <div class="toolbar" role="toolbar" aria-label="Time">
      <button type="button" class="play" onClick={togglePlay} aria-keyshortcuts="Space">
        {playing.value ? "Pause" : "Play"}
      </button>
      <TimeSlider whole={whole} />
      <Clock whole={whole} />
      <select
        aria-label="Speed"
        title="Speed; × 1 shows the whole run in ten seconds"
        value={speed.value}
        onChange={(event) => (speed.value = Number(event.currentTarget.value))}
      >
        {SPEEDS.map(([value, label]) => (
          <option key={label} value={value}>
            {label}
          </option>
        ))}
      </select>
      <RunButton />
      <label class="inline">
        <input
          type="checkbox"
          checked={comparing.value}
          onChange={(event) => (comparing.value = event.currentTarget.checked)}
        />{" "}
        Compare
      </label>
      <ZoomButtons />
    </div>
  );
}

function Clock({ whole }: { whole: number }) {
  return (
    <output class="clock" aria-label="Time shown">
      {clock(time_s.value, whole)}
    </output>
  );
}

function TimeSlider({ whole }: { whole: number }) {
  const reached = reached_s();
  return (
    <input
      class="time"
      type="range"
      aria-label="Time"
      aria-valuetext={clock(time_s.value, whole)}
      min={0}
      max={1000}
      step={1}
      value={whole > 0 ? (time_s.value / whole) * 1000 : 0}
      style={{ "--reached": `${whole > 0 ? (reached / whole) * 100 : 0}%` }}
      onInput={(event) => {
        seek((event.currentTarget.valueAsNumber / 1000) * whole);
      }}
    />
  );
}

function ZoomButtons() {
  return (
    <span role="group" aria-label="Part of the run in the charts" class="inline">
      <button type="button" class="small" aria-label="Zoom in at the time shown" onClick={zoomIn}>
        +
      </button>{" "}
      <button type="button" class="small" aria-label="Zoom out" disabled={!zoom.value} onClick={zoomOut}>
        −
      </button>{" "}
      <button
        type="button"
        class="small"
        aria-label="All of the run"
        disabled={!zoom.value}
        onClick={() => (zoom.value = undefined)}
      >
        All
      </button>
    </span>
  );
}

function RunButton() {
  const running = shown().some((name) => sides[name].status.value.kind === "running");
  return (
    <button
      type="button"
      onClick={() => {
        for (const name of shown()) {
          if (running) sides[name].stop();
          else again(name);
        }
      }}
    >
      {running ? "Stop" : "Run again"}
    </button>
  );
}
