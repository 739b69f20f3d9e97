import type { Description } from "./experiment";

export const description: Description = {
  title: "Fat tree with a hot spot",
  sentences: [
    "Each of 16 hosts sends to one other; from 10 ms to 20 ms, four hosts also send to host:15.",
    "There is room for all, but a hash chooses the path of each flow: several share a link while others stay idle.",
    "Watch the upper layers: busy links next to idle ones, and the queue that grows at the hot spot.",
  ],
  questions: [
    "How much of the capacity do the flows get with one path for each flow, and how much with spraying?",
    "What does spraying cost TCP, and where do you see it?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Choice of paths",
      options: [
        { label: "One for each flow", set: { "network.ecmp": "flow" } },
        { label: "One for each packet (spraying)", set: { "network.ecmp": "packet" } },
      ],
    },
    {
      kind: "slider",
      key: "switch.queue.marking_threshold",
      label: "Marking threshold K",
      min: 2,
      max: 80,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "network.delay",
      label: "Delay of each link",
      min: 1,
      max: 50,
      step: 1,
      unit: "us",
    },
    {
      kind: "slider",
      key: "run.seed",
      label: "Seed: who sends to whom",
      min: 1,
      max: 20,
      step: 1,
      unit: "",
    },
  ],
  other: { "network.ecmp": "packet" },
};
