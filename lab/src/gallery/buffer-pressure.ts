import type { Description } from "./experiment";

export const description: Description = {
  title: "Buffer pressure",
  sentences: [
    "Ten workers answer one client through one port; from 150 ms to 350 ms four long flows use another port of the switch.",
    "Both ports share one memory: the long flows fill it, so less is left for the responses, although they never meet on a link.",
    "Compare the drops at the port to receiver:0 before, during and after the long flows.",
  ],
  questions: [
    "Which alpha protects the queries best, and what does it cost when the long flows are alone?",
    "Why does DCTCP with marks remove the pressure without any change of alpha?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        {
          label: "NewReno, full buffer",
          set: { "transport.congestion": "new-reno", "switch.queue.kind": "drop-tail" },
        },
        {
          label: "DCTCP, marks above 20 packets",
          set: {
            "transport.congestion": "dctcp",
            "switch.queue.kind": "threshold",
            "switch.queue.marking_threshold": "20 packets",
          },
        },
      ],
    },
    {
      kind: "slider",
      key: "switch.buffer.alpha",
      label: "Alpha: share of the free memory",
      min: 0.1,
      max: 8,
      step: 0.1,
      unit: "",
    },
    {
      kind: "slider",
      key: "switch.buffer.shared",
      label: "Shared memory",
      min: 0.2,
      max: 4,
      step: 0.1,
      unit: "MB",
    },
    {
      kind: "slider",
      key: "flows.query.sru",
      label: "Response of a worker",
      min: 10,
      max: 200,
      step: 10,
      unit: "KB",
    },
  ],
  other: {
    "transport.congestion": "dctcp",
    "switch.queue.kind": "threshold",
    "switch.queue.marking_threshold": "20 packets",
  },
};
