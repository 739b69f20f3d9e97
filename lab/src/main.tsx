// The start of the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/page.css";
import "./style/panels.css";
import "./style/plot.css";
import "./style/lesson.css";
import "./style/explain.css";
import { followAddress, keepState, openPage } from "./link/keeping";
import { scaleQueues } from "./network/NetworkView";
import { App } from "./page/App";
import { followKeys } from "./page/keyboard";
import { followTheme } from "./page/theme";
import { startClock } from "./state/clock";
import { notice } from "./state/lab";
import { followScenario } from "./state/runs";

/** What nobody expected is said as well, and costs nothing that was typed. */
function tellErrors(): void {
  const tell = (what: unknown): void => {
    notice.value = `The page met an error (${String(what)}). Reload it: scenario and settings are kept.`;
  };
  window.addEventListener("error", (event) => {
    tell(event.message);
  });
  window.addEventListener("unhandledrejection", (event) => {
    tell(event.reason);
  });
}

const root = document.getElementById("lab");
if (root) {
  tellErrors();
  followTheme();
  openPage();
  scaleQueues();
  root.replaceChildren();
  render(<App />, root);
  followScenario();
  startClock();
  followKeys();
  keepState();
  followAddress();
}
