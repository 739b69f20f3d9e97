// The start of the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/page.css";
import "./style/panels.css";
import "./style/plot.css";
import { followAddress, keepState, openPage } from "./link/keeping";
import { scaleQueues } from "./network/NetworkView";
import { App } from "./page/App";
import { followKeys } from "./page/keyboard";
import { followTheme } from "./page/theme";
import { startClock } from "./state/clock";
import { followScenario } from "./state/runs";

const root = document.getElementById("lab");
if (root) {
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
