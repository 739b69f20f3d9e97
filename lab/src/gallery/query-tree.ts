import type { Description } from "./experiment";

export const description: Description = {
  title: "Queries over a tree of switches",
  sentences: [
    "An aggregator asks nine workers below three switches for 1 MB in all, again and again.",
    "One worker also sends datagrams that no congestion control slows down, on for 20 ms and off for 20 ms on average.",
    "Watch which switch holds the queue, and how a query slows down while the datagrams flow.",
  ],
  questions: [
    "By how much do the datagrams lengthen a query, and what would a fair share have cost?",
    "What happens if the trunk of the third switch is slower than the root's link?",
  ],
  controls: [
    {
      kind: "slider",
      key: "flows.cross.rate",
      label: "Rate of the datagrams",
      min: 50,
      max: 950,
      step: 50,
      unit: "Mbit/s",
    },
    {
      kind: "slider",
      key: "flows.query.total_size",
      label: "Size of a query",
      min: 0.1,
      max: 4,
      step: 0.1,
      unit: "MB",
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
      key: "switch.buffer",
      label: "Buffer of a port",
      min: 16,
      max: 512,
      step: 16,
      unit: "KB",
    },
  ],
  other: { "flows.cross.rate": "900 Mbit/s" },
};
