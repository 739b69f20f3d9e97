// Play, the time slider, slow motion, stop; and comparing.
import { seek, togglePlay } from "../state/clock";
import { comparing, duration_s, playing, reached_s, shown, sides, speed, time_s, zoom } from "../state/lab";
import { again } from "../state/runs";
import { recordingOf } from "./useSide";
import { clock } from "./units";

const SPEEDS: readonly (readonly [value: number, label: string])[] = [
  [2, "Fast"],
  [1, "Normal"],
  [1 / 4, "Slow, 1/4"],
  [1 / 16, "Slow, 1/16"],
  [1 / 64, "Slow, 1/64"],
  [1 / 256, "Slow, 1/256"],
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
      <output class="clock" aria-label="Time shown">
        {clock(time_s.value, whole)}
      </output>
      <label class="inline">
        Speed{" "}
        <select value={speed.value} onChange={(event) => (speed.value = Number(event.currentTarget.value))}>
          {SPEEDS.map(([value, label]) => (
            <option key={label} value={value}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <RunButton />
      <label class="inline">
        <input
          type="checkbox"
          checked={comparing.value}
          onChange={(event) => (comparing.value = event.currentTarget.checked)}
        />{" "}
        Compare A and B
      </label>
      {zoom.value && (
        <button type="button" class="small" onClick={() => (zoom.value = undefined)}>
          Whole run
        </button>
      )}
    </div>
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
