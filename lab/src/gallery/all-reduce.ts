import type { Description } from "./experiment";

export const description: Description = {
  title: "All-reduce of a training job",
  sentences: [
    "Sixteen hosts add up 10 MB of gradients in a ring, compute for 1 ms, and do it again, three times.",
    "In a ring each host sends to the next one only: no link is shared, and no queue builds up.",
    "A tree sends everything up to one host and down again; compare how long a round takes.",
  ],
  questions: [
    "How near is the ring to 2 (n - 1) / n times size over rate, and where does the rest go?",
    "How much does a pipeline of segments gain, for the ring and for the tree?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Algorithm",
      options: [
        { label: "Ring", set: { "flows.gradients.algorithm": "ring" } },
        { label: "Tree", set: { "flows.gradients.algorithm": "tree" } },
      ],
    },
    {
      kind: "slider",
      key: "flows.gradients.segments",
      label: "Segments of the pipeline",
      min: 1,
      max: 20,
      step: 1,
      unit: "",
    },
    {
      kind: "slider",
      key: "flows.gradients.size",
      label: "Size of the gradients",
      min: 1,
      max: 20,
      step: 1,
      unit: "MB",
    },
    {
      kind: "slider",
      key: "network.delay",
      label: "Delay of each link",
      min: 1,
      max: 20,
      step: 1,
      unit: "us",
    },
  ],
  other: { "flows.gradients.segments": "10" },
};
