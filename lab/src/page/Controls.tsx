// The settings of an experiment: sliders and choices, for run A, and for run B where two runs are compared.
import { useComputed } from "@preact/signals";
import type { TomlTable } from "smol-toml";
import type { Choice, Control, Option, Slider } from "../gallery/experiment";
import { chosenOption, positionOf, settingOf, tableOf } from "../gallery/values";
import { comparing, experiment, reset, set, settings, shown, text } from "../state/lab";
import type { Settings, SideName } from "../state/lab";

export function Controls() {
  const table = useComputed(() => tableOf(text.value));
  const controls = experiment.value?.controls ?? [];
  if (controls.length === 0) {
    return <p class="faint">This scenario has no sliders. Change it under “Scenario”.</p>;
  }
  return (
    <div class="controls">
      {shown().map((side) => (
        <fieldset key={side}>
          <legend>{comparing.value ? `Settings of run ${side.toUpperCase()}` : "Settings"}</legend>
          {controls.map((control, i) => (
            <OneControl key={i} id={`${side}-${i}`} side={side} control={control} table={table.value} />
          ))}
          {Object.keys(settings[side].value).length > 0 && (
            <button
              type="button"
              class="small"
              onClick={() => {
                reset(side);
              }}
            >
              Back to the scenario’s values
            </button>
          )}
        </fieldset>
      ))}
    </div>
  );
}

interface Props<Kind> {
  id: string;
  side: SideName;
  control: Kind;
  table: TomlTable | undefined;
}

function OneControl({ control, ...rest }: Props<Control>) {
  return control.kind === "slider" ? (
    <SliderControl control={control} {...rest} />
  ) : (
    <ChoiceControl control={control} {...rest} />
  );
}

function SliderControl({ id, side, control, table }: Props<Slider>) {
  const position = positionOf(control, settings[side].value, table);
  const label = position === undefined ? "set in the scenario" : settingOf(control, position);
  return (
    <div class="control">
      <label for={id}>{control.label}</label>
      <output for={id}>{label}</output>
      <input
        id={id}
        type="range"
        min={control.min}
        max={control.max}
        step={control.step}
        value={position ?? control.min}
        aria-valuetext={label}
        data-key={control.key}
        onInput={(event) => {
          set(side, { [control.key]: settingOf(control, event.currentTarget.valueAsNumber) });
        }}
      />
    </div>
  );
}

/** Where none of the options is chosen: another place has set their keys. */
function ownValue(control: Choice, now: Settings): string {
  if (now["transport.congestion"] === "custom" && control.options.some(setsControl)) {
    return `Your control ${now["transport.controller"] ?? ""}`;
  }
  return "As in the scenario";
}

function setsControl({ set: changes }: Option): boolean {
  return "transport.congestion" in changes;
}

function ChoiceControl({ id, side, control, table }: Props<Choice>) {
  const chosen = chosenOption(control, settings[side].value, table);
  const index = chosen ? control.options.indexOf(chosen) : -1;
  return (
    <div class="control">
      <label for={id}>{control.label}</label>
      <select
        id={id}
        value={index}
        onChange={(event) => {
          const option = control.options[Number(event.currentTarget.value)];
          if (option) set(side, option.set);
        }}
      >
        {index === -1 && <option value={-1}>{ownValue(control, settings[side].value)}</option>}
        {control.options.map((option, i) => (
          <option key={i} value={i}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}
