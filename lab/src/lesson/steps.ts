// The steps of the lesson: what to open, what to look at, a question with its answer, and the source. docs/lesson.md has
// the same steps for lecturers, and e2e/lesson.test.ts holds the numbers against the page.
import type { Settings } from "../state/lab";

export interface Step {
  title: string;
  minutes: number;
  /** Id of the experiment in the gallery. */
  experiment: string;
  a: Settings;
  /** Settings of run B; without it there is one run. */
  b?: Settings;
  look: string[];
  question: string;
  answer: string[];
  /** Why it is so, with the source. */
  why: string[];
}

const NEW_RENO = { "transport.congestion": "new-reno", "switch.queue.kind": "drop-tail" };

/** DCTCP with TCP's settings of 2010, as the choice “DCTCP” of the experiment sets it. */
const DCTCP_OF_2010 = {
  "transport.preset": "ns-2-2010",
  "transport.congestion": "dctcp",
  "switch.queue.kind": "threshold",
  "switch.queue.marking_threshold": "20 packets",
  "transport.min_rto": "200 ms",
};

/** NewReno of 2010 with another timer, as the choice “A timer of 1 ms” sets it. */
const SHORT_TIMER = {
  "transport.preset": "ns-2-2010",
  ...NEW_RENO,
  "transport.min_rto": "1 ms",
};

export const STEPS: readonly Step[] = [
  {
    title: "Two senders, one port",
    minutes: 3,
    experiment: "tcp-dctcp",
    a: {},
    b: NEW_RENO,
    look: [
      "Run A is DCTCP, run B is NewReno. Both have a port of 500 Mbit/s with a buffer of 100 packets.",
      "Watch the bar at the port left->right, and the lines under “Queues” and “Congestion windows”.",
    ],
    question: "Both runs fill the link. How long does a packet wait in each queue?",
    answer: [
      "The mean queue is 19.5 packets under DCTCP and 66.3 under NewReno.",
      "A packet takes 24 us at this rate, so it waits 0.5 ms or 1.6 ms.",
    ],
    why: [
      "NewReno halves its window when the full buffer drops a packet (RFC 5681).",
      "DCTCP cuts it in proportion to the share of marked packets, long before that (RFC 8257, 3.3).",
    ],
  },
  {
    title: "The threshold and the use of the link",
    minutes: 2,
    experiment: "tcp-dctcp",
    a: { "network.links.bottleneck.delay": "300 us" },
    b: { "network.links.bottleneck.delay": "300 us", "switch.queue.marking_threshold": "1 packets" },
    look: [
      "Both runs are DCTCP over a longer path. Run A marks above K = 20 packets, run B above K = 1.",
      "Drag over a part of a chart to zoom: the queue of run B is empty again and again.",
    ],
    question: "The queue of run B is shorter. Is K = 1 the better choice?",
    answer: [
      "No: the link carries 466 Mbit/s on average in run B, 494 Mbit/s in run A.",
      "While the queue is empty, the link is idle although both senders have data.",
    ],
    why: [
      "After a cut the window must still fill the path, so the queue needs a reserve for the cut.",
      "The model of the authors gives K > C × RTT / 7 (Alizadeh et al. 2010, 3.4): here 4.1 packets.",
    ],
  },
  {
    title: "The threshold and the delay of messages",
    minutes: 4,
    experiment: "choose-k",
    a: {},
    b: { "switch.queue.marking_threshold": "14 packets" },
    look: [
      "Two long flows share a port of 10 Gbit/s with messages of 20 KB. Run A has K = 65, run B K = 14.",
      "Look at “Completion times” at the end. Then move the slider K of run B to 4.",
    ],
    question: "Which K would you choose: 65, 14 or 4?",
    answer: [
      "14: half of the messages take 240 us or less, with K = 65 it is 355 us. The link is full with both.",
      "With K = 4 it is 216 us, but the link carries 9.16 Gbit/s of 10.",
    ],
    why: [
      "Each message waits behind the queue, which is about K packets long.",
      "C × RTT / 7 is 12.2 packets here (Alizadeh et al. 2010, 3.4). A larger K only adds delay.",
    ],
  },
  {
    title: "Incast collapse",
    minutes: 3,
    experiment: "incast-collapse",
    a: {},
    look: [
      "A client reads from 20 servers at once, and asks again when the last response is complete.",
      "Look at “Rates of links”: the link to the client is busy, then idle for a long time.",
    ],
    question: "All servers have data, and the link is idle. For what does everybody wait?",
    answer: [
      "For a timer of 200 ms of one server, which lost the end of its response.",
      "The link carries 216 Mbit/s of 1 Gbit/s. Rounds take 204 ms and more; 43 ms are enough at full rate.",
    ],
    why: [
      "Without later packets there are no duplicate ACKs, so only the timer repeats a loss (RFC 5681, RFC 6298).",
      "This is TCP throughput collapse (Phanishayee et al. 2008).",
    ],
  },
  {
    title: "Remedies",
    minutes: 4,
    experiment: "incast-collapse",
    a: SHORT_TIMER,
    b: DCTCP_OF_2010,
    look: [
      "Run A has a timer of 1 ms, run B is DCTCP with K = 20. Both fill the link.",
      "Compare the drops of both runs. Then set both to 48 servers, then to 64.",
    ],
    question: "Both remedies work for 20 servers. Which one would you choose?",
    answer: [
      "DCTCP: it drops nothing, and its queue is short. The timer only repairs 2,259 drops sooner.",
      "With 64 servers DCTCP drops packets too. Its timer is still 200 ms, so it needs the short one as well.",
    ],
    why: [
      "A short timer repairs loss early (Vasudevan et al. 2009); marks avoid it.",
      "Nothing but scheduling helps where the least windows together exceed the buffer (Alizadeh et al. 2010, 3.2).",
    ],
  },
  {
    title: "A victim of pauses",
    minutes: 2,
    experiment: "victim-flow",
    a: {},
    b: { "transport.congestion": "hpcc" },
    look: [
      "Lossless Ethernet: a switch with a full queue pauses its neighbours. Run A is DCQCN, run B is HPCC.",
      "The victim sends to another host than the incast, over the same links. Then set PFC to “Off” in run A.",
    ],
    question: "No packet is lost. How much does the victim pay for that?",
    answer: [
      "Under DCQCN 99 % of its flows complete within 613 us, under HPCC within 52.7 us.",
      "Without PFC DCQCN has 8,743 drops, and neither gains: no round of the incast completes, and fewer flows of the victim.",
    ],
    why: [
      "PFC pauses a priority of a link, not a flow, so it also stops those that did nothing (Zhu et al. 2015).",
      "HPCC reads the queues from the packets, and reacts before they pause anybody (Li et al. 2019).",
    ],
  },
  {
    title: "A pause storm: lossless is not free",
    minutes: 2,
    experiment: "pfc-storm",
    a: {},
    b: { "network.links.faulty.rate": "40000 Mbit/s" },
    look: [
      "In run A one host takes its data a hundred times too slowly. In run B it is healthy.",
      "Watch from 2 ms on: which queues fill first, and where do the pauses (two green bars) appear?",
    ],
    question: "Only host:15 has a fault. Who else suffers?",
    answer: [
      "All: leaf:0->spine:1 carries 7.3 Gbit/s, with a healthy host 50. Of 1,086 other flows 850 do not complete, else 13.",
      "leaf:1 pauses the spines, these pause leaf:0, and that pauses its hosts.",
    ],
    why: [
      "A lossless network hands congestion on from switch to switch, and one host can stop it.",
      "Real networks have had such storms, and have watchdogs against them (Guo et al. 2016).",
    ],
  },
];
