import type { Description } from "./experiment";

export const description: Description = {
  title: "Double thresholds: DT-CWA",
  sentences: [
    "Two long flows share a port, and eight more come at 80 ms and leave at 140 ms.",
    "Marking begins above one threshold and ends below another one; DT-CWA steps its window down while marks return, and raises it once after them.",
    "Compare the swing of the queue with DCTCP, which reacts to the fraction of marks.",
  ],
  questions: [
    "What does the order of the two thresholds change: K1 above K2, or K2 above K1?",
    "How long is the queue with ten flows, and what sets that length?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        { label: "DT-CWA", set: { "transport.congestion": "dt-cwa" } },
        { label: "DCTCP", set: { "transport.congestion": "dctcp" } },
      ],
    },
    {
      kind: "slider",
      key: "switch.queue.k1",
      label: "K1: marking begins above it",
      min: 5,
      max: 80,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "switch.queue.k2",
      label: "K2: marking ends below it",
      min: 5,
      max: 80,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "transport.b",
      label: "b: how far the window is raised",
      min: 0.05,
      max: 1,
      step: 0.05,
      unit: "",
    },
  ],
  other: { "transport.congestion": "dctcp" },
};
