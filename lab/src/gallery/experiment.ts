// An experiment of the gallery: a scenario, a few words about it, and the settings that a student changes.

/** A number with a unit, moved by a slider. */
export interface Slider {
  kind: "slider";
  /** Key of the scenario; its value there is where the slider starts. */
  key: string;
  label: string;
  min: number;
  max: number;
  step: number;
  /** As the scenario writes it; empty for plain numbers. */
  unit: string;
}

/** Some values to choose from. A choice may set several keys. */
export interface Choice {
  kind: "choice";
  label: string;
  options: Option[];
}

export interface Option {
  label: string;
  set: Record<string, string>;
}

export type Control = Slider | Choice;

export interface Description {
  title: string;
  /** Three sentences: what is seen, why, and what to look at. */
  sentences: [string, string, string];
  /** For a student; the sliders answer them. */
  questions: [string, string];
  controls: Control[];
  /** Settings of run B that are worth comparing with. */
  other?: Record<string, string>;
}

export interface Experiment extends Description {
  id: string;
  text: string;
}
