// The page: experiment and settings on the left, the runs on the right.
import { Charts } from "../charts/Charts";
import { Explanations } from "../explain/Explain";
import { NetworkView } from "../network/NetworkView";
import { comparing, notice, shown } from "../state/lab";
import { engine } from "../state/runs";
import { SideColumn, tab } from "./SideColumn";
import { StatusLine } from "./StatusLine";
import { theme, toggleTheme } from "./theme";
import { Toolbar } from "./Toolbar";

export function App() {
  return (
    <>
      <Header />
      {notice.value && (
        <p class="notice" role="alert">
          {notice.value}{" "}
          <button type="button" class="small" onClick={() => (notice.value = undefined)}>
            Close
          </button>
        </p>
      )}
      <div class={tab.value === "Scenario" || tab.value === "Control" ? "columns wide" : "columns"}>
        <SideColumn />
        <main>
          <Toolbar />
          <div class={comparing.value ? "sides two" : "sides"}>
            {shown().map((side) => (
              <section
                key={side}
                id={`run-${side}`}
                aria-label={comparing.value ? `Run ${side.toUpperCase()}` : "Run"}
              >
                {comparing.value && <h2>Run {side.toUpperCase()}</h2>}
                <StatusLine side={side} />
                <NetworkView side={side} />
                <Charts side={side} />
              </section>
            ))}
          </div>
          <Explanations />
        </main>
      </div>
    </>
  );
}

function Header() {
  return (
    <header>
      <h1>Incastle lab</h1>
      <span class="faint">{engine.value ? `engine ${engine.value.version}` : "loading the engine…"}</span>
      <span class="space" />
      <button type="button" onClick={toggleTheme}>
        {theme.value === "dark" ? "Light" : "Dark"}
      </button>
    </header>
  );
}
