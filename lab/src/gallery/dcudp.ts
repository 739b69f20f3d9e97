import type { Description } from "./experiment";

export const description: Description = {
  title: "The modes of DCUDP",
  sentences: [
    "A flow of constant rate sends alone until 20 ms, then a bulk transfer joins for 40 ms.",
    "Marks bring both into congestion mode, in which they share the link; what the application sends meanwhile becomes a backlog.",
    "When the receiver reports the end of congestion, the sender returns to UDP mode and the backlog leaves at full speed.",
  ],
  questions: [
    "How long does the backlog live after the bulk transfer has stopped?",
    "What do longer windows K do to the time in congestion mode?",
  ],
  controls: [
    {
      kind: "slider",
      key: "flows.constant.rate",
      label: "Constant rate",
      min: 50,
      max: 950,
      step: 50,
      unit: "Mbit/s",
    },
    {
      kind: "slider",
      key: "transport.exit_window",
      label: "Exit window K, round trips",
      min: 2,
      max: 64,
      step: 1,
      unit: "",
    },
    {
      kind: "slider",
      key: "switch.queue.marking_threshold",
      label: "Marking threshold",
      min: 2,
      max: 80,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "host.jitter",
      label: "Jitter of hosts",
      min: 0,
      max: 20,
      step: 1,
      unit: "us",
    },
  ],
  other: { "transport.exit_window": "64" },
};
