import type { Description } from "./experiment";

export const description: Description = {
  title: "HPCC: control by telemetry",
  sentences: [
    "32 hosts of a cluster send flows of web-search sizes, and at 150 us sixteen of them send 250 KB each to host:31.",
    "Under HPCC every switch writes queue and use into the packets, so senders know within a round trip how much to slow down.",
    "Compare with DCQCN, which hears only that there is congestion, and look at the queue at the port to host:31.",
  ],
  questions: [
    "How long does the queue of the incast last under HPCC, and how long under DCQCN?",
    "What do the short web flows gain, and what do the long ones lose?",
  ],
  controls: [
    {
      kind: "choice",
      label: "Congestion control",
      options: [
        { label: "HPCC", set: { "transport.congestion": "hpcc" } },
        { label: "DCQCN", set: { "transport.congestion": "dcqcn" } },
        { label: "TIMELY", set: { "transport.congestion": "timely" } },
        { label: "DCTCP as a rate", set: { "transport.congestion": "rate-dctcp" } },
      ],
    },
    {
      kind: "slider",
      key: "flows.web.load",
      label: "Load of the web flows",
      min: 0.05,
      max: 0.6,
      step: 0.05,
      unit: "",
    },
    {
      kind: "slider",
      key: "flows.incast.size",
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
      min: 2,
      max: 32,
      step: 2,
      unit: "MB",
    },
  ],
  other: { "transport.congestion": "dcqcn" },
};
