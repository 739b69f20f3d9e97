import type { Description } from "./experiment";

export const description: Description = {
  title: "RoCE incast and its victim",
  sentences: [
    "Seven hosts of one rack send 500 KB each to one host of the other, about 2000 times a second, over lossless RDMA.",
    "Instead of dropping, a switch pauses its neighbours (PFC), and the pauses also stop a victim that only shares the links between the switches.",
    "Look at the queues at the uplinks of leaf:0, and at the completion times of the victim.",
  ],
  questions: [
    "Which congestion control protects the victim best, and by which signal?",
    "What happens to both without PFC, when packets are lost and repeated?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        { label: "DCQCN", set: { "transport.congestion": "dcqcn" } },
        { label: "TIMELY", set: { "transport.congestion": "timely" } },
        { label: "HPCC", set: { "transport.congestion": "hpcc" } },
        { label: "DCTCP as a rate", set: { "transport.congestion": "rate-dctcp" } },
      ],
    },
    {
      kind: "choice",
      label: "PFC",
      options: [
        { label: "On", set: { "switch.pfc.pause_frames": "true" } },
        { label: "Off: losses", set: { "switch.pfc.pause_frames": "false" } },
      ],
    },
    {
      kind: "slider",
      key: "flows.incast.incast_rate",
      label: "Incasts per second",
      min: 500,
      max: 4000,
      step: 500,
      unit: "",
    },
    {
      kind: "slider",
      key: "flows.incast.sru",
      label: "Size from each host",
      min: 50,
      max: 1000,
      step: 50,
      unit: "KB",
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
  other: { "transport.congestion": "hpcc" },
};
