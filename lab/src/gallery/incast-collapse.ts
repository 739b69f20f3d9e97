import type { Description } from "./experiment";

export const description: Description = {
  title: "Incast collapse and its remedies",
  sentences: [
    "A client reads 256 KiB from each of 20 servers, and asks again when the last response is complete.",
    "The responses meet at one port, its buffer overflows, and a server that loses the end of its response waits 200 ms for its timer.",
    "Look for the long pauses in which the link is idle, and try the remedies.",
  ],
  questions: [
    "How many servers can the client ask before the goodput collapses, and what does a larger buffer change?",
    "Which remedy gains most: a shorter timer, RACK-TLP, or DCTCP with marks?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Remedy",
      options: [
        {
          label: "None: NewReno of 2010",
          set: {
            "transport.preset": "ns-2-2010",
            "transport.congestion": "new-reno",
            "switch.queue.kind": "drop-tail",
            "transport.min_rto": "200 ms",
          },
        },
        {
          label: "A timer of 1 ms",
          set: {
            "transport.preset": "ns-2-2010",
            "transport.congestion": "new-reno",
            "switch.queue.kind": "drop-tail",
            "transport.min_rto": "1 ms",
          },
        },
        {
          label: "RACK-TLP, as TCP has it today",
          set: {
            "transport.preset": "linux",
            "transport.congestion": "new-reno",
            "switch.queue.kind": "drop-tail",
            "transport.min_rto": "200 ms",
          },
        },
        {
          label: "DCTCP",
          set: {
            "transport.preset": "ns-2-2010",
            "transport.congestion": "dctcp",
            "switch.queue.kind": "threshold",
            "switch.queue.marking_threshold": "20 packets",
            "transport.min_rto": "200 ms",
          },
        },
      ],
    },
    { kind: "slider", key: "network.senders", label: "Servers", min: 1, max: 64, step: 1, unit: "" },
    {
      kind: "slider",
      key: "switch.buffer",
      label: "Buffer of a port",
      min: 32,
      max: 1024,
      step: 32,
      unit: "KiB",
    },
    {
      kind: "slider",
      key: "flows.storage.sru",
      label: "Response of a server",
      min: 16,
      max: 1024,
      step: 16,
      unit: "KiB",
    },
  ],
  other: {
    "transport.congestion": "dctcp",
    "switch.queue.kind": "threshold",
    "switch.queue.marking_threshold": "20 packets",
  },
};
