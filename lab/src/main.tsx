// The start of the page.
import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/page.css";
import "./style/plot.css";
import { scaleQueues } from "./network/NetworkView";
import { App } from "./page/App";
import { followTheme } from "./page/theme";
import { startClock } from "./state/clock";
import { openFirst } from "./state/lab";
import { followScenario } from "./state/runs";

const root = document.getElementById("lab");
if (root) {
  followTheme();
  openFirst();
  scaleQueues();
  root.replaceChildren();
  render(<App />, root);
  followScenario();
  startClock();
}
