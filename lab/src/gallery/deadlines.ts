import type { Description } from "./experiment";

export const description: Description = {
  title: "Deadlines: D2TCP",
  sentences: [
    "Urgent flows of 200 KB have 12 ms to complete, patient ones of 1 MB have 200 ms; all share one port.",
    "D2TCP cuts its window less when a deadline is near, and more when it is far; DCTCP treats all alike.",
    "The totals at the end count the deadlines that were met and missed.",
  ],
  questions: [
    "How many more deadlines does DCTCP miss at the same load and seed?",
    "At which load does knowing the deadlines stop to help?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        { label: "D2TCP", set: { "transport.congestion": "d2tcp" } },
        { label: "DCTCP", set: { "transport.congestion": "dctcp" } },
      ],
    },
    {
      kind: "slider",
      key: "flows.urgent.deadline",
      label: "Deadline of urgent flows",
      min: 2,
      max: 40,
      step: 1,
      unit: "ms",
    },
    {
      kind: "slider",
      key: "flows.urgent.load",
      label: "Load of urgent flows",
      min: 0.05,
      max: 0.5,
      step: 0.05,
      unit: "",
    },
    {
      kind: "slider",
      key: "flows.patient.load",
      label: "Load of patient flows",
      min: 0.05,
      max: 0.5,
      step: 0.05,
      unit: "",
    },
  ],
  other: { "transport.congestion": "dctcp" },
};
