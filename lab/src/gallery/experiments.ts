// The gallery: a scenario and a description for each experiment, in the order of the page.
import { description as allReduce } from "./all-reduce";
import { description as bufferPressure } from "./buffer-pressure";
import { description as chooseK } from "./choose-k";
import { description as dcudp } from "./dcudp";
import { description as deadlines } from "./deadlines";
import { description as dtCwa } from "./dt-cwa";
import { description as fatTree } from "./fat-tree";
import { description as hpcc } from "./hpcc";
import { description as incastCollapse } from "./incast-collapse";
import { description as pfcStorm } from "./pfc-storm";
import { description as qcn } from "./qcn";
import { description as queryTree } from "./query-tree";
import { description as tcpDctcp } from "./tcp-dctcp";
import { description as victimFlow } from "./victim-flow";
import type { Description, Experiment } from "./experiment";

const texts = import.meta.glob<string>("./*.toml", { query: "?raw", import: "default", eager: true });

function experiment(id: string, description: Description): Experiment {
  const text = texts[`./${id}.toml`];
  if (text === undefined) throw new Error(`no scenario ${id}.toml`);
  return { ...description, id, text };
}

export const EXPERIMENTS: readonly Experiment[] = [
  experiment("tcp-dctcp", tcpDctcp),
  experiment("incast-collapse", incastCollapse),
  experiment("choose-k", chooseK),
  experiment("buffer-pressure", bufferPressure),
  experiment("query-tree", queryTree),
  experiment("deadlines", deadlines),
  experiment("qcn", qcn),
  experiment("dt-cwa", dtCwa),
  experiment("dcudp", dcudp),
  experiment("fat-tree", fatTree),
  experiment("all-reduce", allReduce),
  experiment("victim-flow", victimFlow),
  experiment("pfc-storm", pfcStorm),
  experiment("hpcc", hpcc),
];
