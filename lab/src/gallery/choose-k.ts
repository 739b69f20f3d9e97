import type { Description } from "./experiment";

export const description: Description = {
  title: "Choose the marking threshold K",
  sentences: [
    "Two long DCTCP flows share a port of 10 Gbit/s with messages of 20 KB, fetched one after the other.",
    "With K too low the link is idle at times; with K too high the messages wait behind a queue that nobody needs.",
    "Watch the queue, the rate of the link, and the completion times at the end.",
  ],
  questions: [
    "Which is the lowest K at which the link is never idle, and how near is it to a seventh of rate times round-trip time?",
    "What happens to that K when four times as many packets leave together (segmentation offload)?",
  ],
  controls: [
    {
      kind: "slider",
      key: "switch.queue.marking_threshold",
      label: "Marking threshold K",
      min: 1,
      max: 200,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "network.delay",
      label: "Delay of each link",
      min: 5,
      max: 100,
      step: 5,
      unit: "us",
    },
    {
      kind: "slider",
      key: "host.tso_burst",
      label: "Packets that leave together",
      min: 1,
      max: 44,
      step: 1,
      unit: "",
    },
    {
      kind: "slider",
      key: "transport.delayed_ack_count",
      label: "Packets for each ACK",
      min: 1,
      max: 4,
      step: 1,
      unit: "",
    },
  ],
  other: { "switch.queue.marking_threshold": "10 packets" },
};
