// The left column: experiment, scenario, or share and save.
import { signal } from "@preact/signals";
import { CodePanel } from "../control/CodePanel";
import { Editor } from "../editor/Editor";
import { SavePanel } from "../save/SavePanel";
import { checked } from "../state/runs";
import { Gallery } from "./Gallery";

const TABS = ["Experiment", "Scenario", "Control", "Share"] as const;

export const tab = signal<(typeof TABS)[number]>("Experiment");

export function SideColumn() {
  return (
    <aside aria-label="Experiment and settings">
      <div role="tablist" class="tabs" aria-label="Panels">
        {TABS.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={tab.value === name}
            aria-controls="panel"
            tabIndex={tab.value === name ? 0 : -1}
            onClick={() => (tab.value = name)}
            onKeyDown={moveByArrows}
          >
            {name}
            {name === "Scenario" && mistakes() > 0 && <span class="count">{mistakes()}</span>}
          </button>
        ))}
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${tab.value}`} class="panel">
        {tab.value === "Experiment" && <Gallery />}
        {tab.value === "Scenario" && <Editor />}
        {tab.value === "Control" && <CodePanel />}
        {tab.value === "Share" && <SavePanel />}
      </div>
    </aside>
  );
}

function mistakes(): number {
  return checked.value?.diagnostics.filter(({ severity }) => severity === "error").length ?? 0;
}

/** Arrow keys move between tabs, as screen readers announce. */
function moveByArrows(event: KeyboardEvent): void {
  const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
  if (step === 0) return;
  const next = TABS[(TABS.indexOf(tab.value) + step + TABS.length) % TABS.length] ?? "Experiment";
  tab.value = next;
  document.getElementById(`tab-${next}`)?.focus();
}
