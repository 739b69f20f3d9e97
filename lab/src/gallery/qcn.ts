import type { Description } from "./experiment";

export const description: Description = {
  title: "Congestion notification: QCN",
  sentences: [
    "Eight servers answer one client, and the switch samples frames: if its queue grows, it sends a notification to the NIC of the sender.",
    "The NIC limits that flow and then returns to speed in stages, so TCP above it loses few packets.",
    "Compare variants: II samples more densely when the buffer fills repeatedly, IV returns to speed more slowly, V does both.",
  ],
  questions: [
    "How does the goodput without QCN depend on the buffer, and how with it?",
    "Does a lower set point avoid more losses than it costs in goodput?",
  ],
  controls: [
    {
      kind: "choice",
      label: "QCN",
      options: [
        { label: "Variant V", set: { "switch.qcn": '{ variant = "V", cp_q_eq = "20 %" }' } },
        {
          label: "Variant I, the standard",
          set: { "switch.qcn": '{ variant = "I", cp_q_eq = "20 %" }' },
        },
        { label: "Variant II", set: { "switch.qcn": '{ variant = "II", cp_q_eq = "20 %" }' } },
        { label: "Variant IV", set: { "switch.qcn": '{ variant = "IV", cp_q_eq = "20 %" }' } },
        { label: "Off", set: { "switch.qcn": "off" } },
      ],
    },
    { kind: "slider", key: "network.senders", label: "Servers", min: 1, max: 32, step: 1, unit: "" },
    {
      kind: "slider",
      key: "switch.buffer",
      label: "Buffer of a port",
      min: 16,
      max: 512,
      step: 16,
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
  other: { "switch.qcn": "off" },
};
