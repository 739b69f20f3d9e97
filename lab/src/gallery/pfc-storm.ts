import type { Description } from "./experiment";

export const description: Description = {
  title: "A PFC storm",
  sentences: [
    "From 2 ms on four hosts send to host:15, which takes its data a hundred times too slowly, as one with a fault does.",
    "Its switch pauses the spines, these pause the other leaf, and that pauses its hosts: soon nobody's data move.",
    "A watchdog drops what waits for a port that has been paused too long.",
  ],
  questions: [
    "In which order do the queues fill, and which flows stop that never send to host:15?",
    "What does a watchdog that detects later, or none at all, change for the others?",
  ],
  controls: [
    {
      kind: "slider",
      key: "switch.pfc.watchdog.detection",
      label: "The watchdog detects after",
      min: 1,
      max: 8,
      step: 1,
      unit: "ms",
    },
    {
      kind: "slider",
      key: "network.links.faulty.rate",
      label: "Rate of the faulty host",
      min: 200,
      max: 40000,
      step: 200,
      unit: "Mbit/s",
    },
    {
      kind: "slider",
      key: "flows.others.load",
      label: "Load of the others",
      min: 0.05,
      max: 0.8,
      step: 0.05,
      unit: "",
    },
    {
      kind: "slider",
      key: "switch.buffer.shared",
      label: "Memory of a switch",
      min: 1,
      max: 16,
      step: 1,
      unit: "MiB",
    },
  ],
  other: { "network.links.faulty.rate": "40000 Mbit/s" },
};
