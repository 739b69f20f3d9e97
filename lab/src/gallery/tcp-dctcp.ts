import type { Description } from "./experiment";

export const description: Description = {
  title: "TCP against DCTCP in one port",
  sentences: [
    "Two long flows share a link of 500 Mbit/s; the second comes at 60 ms and leaves at 140 ms.",
    "The switch marks packets while its queue is longer than K, and DCTCP cuts its window in proportion to the marks.",
    "Compare with NewReno and CUBIC, which fill the whole buffer before they slow down.",
  ],
  questions: [
    "How long does a packet wait in the queue under DCTCP, and how long under NewReno?",
    "Below which K does the link run idle at times, and how does that depend on the delay?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        {
          label: "DCTCP, marks above K",
          set: { "transport.congestion": "dctcp", "switch.queue.kind": "threshold" },
        },
        {
          label: "NewReno, full buffer",
          set: { "transport.congestion": "new-reno", "switch.queue.kind": "drop-tail" },
        },
        {
          label: "CUBIC, full buffer",
          set: { "transport.congestion": "cubic", "switch.queue.kind": "drop-tail" },
        },
        {
          label: "BBR, full buffer",
          set: { "transport.congestion": "bbr", "switch.queue.kind": "drop-tail" },
        },
      ],
    },
    {
      kind: "slider",
      key: "switch.queue.marking_threshold",
      label: "Marking threshold K",
      min: 1,
      max: 80,
      step: 1,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "switch.buffer",
      label: "Buffer of a port",
      min: 10,
      max: 300,
      step: 10,
      unit: "packets",
    },
    {
      kind: "slider",
      key: "network.links.bottleneck.delay",
      label: "Delay of the bottleneck",
      min: 10,
      max: 500,
      step: 10,
      unit: "us",
    },
  ],
  other: { "transport.congestion": "new-reno", "switch.queue.kind": "drop-tail" },
};
