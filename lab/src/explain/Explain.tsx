// Why a flow was slow, in the words of `incastle explain`: panels below the runs, and buttons at the flows.
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { counted, formatPercent } from "../page/units";
import { recordingOf } from "../page/useSide";
import { comparing, shown, sides } from "../state/lab";
import type { SideName } from "../state/lab";
import type { Explanation, Step } from "../worker/protocol";
import { show } from "./show";
import { timedOut } from "./timeouts";

/** Flows with timeouts that have a button. */
const MOST_FLOWS = 5;

/** Names that the browser offers while somebody types. */
const OFFERED = 500;

function panelOf(side: SideName): string {
  return `explain-${side}`;
}

/** Explains a flow; an empty name is the slowest. The keyboard moves to the panel, which comes into view by itself. */
function explain(side: SideName, flow: string): void {
  sides[side].explain(flow);
  moveTo(side);
}

function moveTo(side: SideName): void {
  document.getElementById(panelOf(side))?.focus({ preventScroll: true });
}

/** A button for each flow of a chart. */
export function ExplainButtons({ side, flows }: { side: SideName; flows: readonly string[] }) {
  if (!sides[side].isWhole || flows.length === 0) return null;
  return (
    <p class="flows">
      Explain:
      {flows.map((name) => (
        <FlowButton key={name} side={side} name={name} />
      ))}
    </p>
  );
}

function FlowButton({ side, name, more = "" }: { side: SideName; name: string; more?: string }) {
  return (
    <button
      type="button"
      class="small"
      aria-label={`Explain ${name}${more}`}
      onClick={() => {
        explain(side, name);
      }}
    >
      {name}
      {more}
    </button>
  );
}

/** The panels of the runs. With an answer they stay at the lower edge: its instants show in the picture above. */
export function Explanations() {
  const answered = shown().some((side) => sides[side].explaining.value.kind !== "none");
  return (
    <div class={`explanations${comparing.value ? " two" : ""}${answered ? " docked" : ""}`}>
      {shown().map((side) => (
        <Explain key={side} side={side} />
      ))}
    </div>
  );
}

function Explain({ side }: { side: SideName }) {
  const isWhole = sides[side].isWhole;
  const title = comparing.value ? `Why was it slow in run ${side.toUpperCase()}?` : "Why was it slow?";
  return (
    <section id={panelOf(side)} class="explain" tabIndex={-1} aria-label={title}>
      <h2>{title}</h2>
      {isWhole ? <Choice side={side} /> : <p class="faint">Available when the run is over.</p>}
      {isWhole && <Answer side={side} />}
    </section>
  );
}

function Choice({ side }: { side: SideName }) {
  const wanted = useSignal("");
  const timeouts = useComputed(() => {
    const status = sides[side].status.value;
    return status.kind === "done" ? timedOut(status.outcome, MOST_FLOWS) : [];
  });
  const names = recordingOf(side)?.flowNames ?? [];
  const list = `explained-${side}`;
  return (
    <form
      class="flows"
      onSubmit={(event) => {
        event.preventDefault();
        explain(side, wanted.value.trim());
      }}
    >
      <label>
        Flow{" "}
        <input
          list={list}
          placeholder="the slowest"
          value={wanted.value}
          onInput={(event) => (wanted.value = event.currentTarget.value)}
        />
      </label>
      <datalist id={list}>
        {names.slice(0, OFFERED).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <button type="submit">Explain</button>
      {timeouts.value.length > 0 && <span>Most timeouts:</span>}
      {timeouts.value.map(({ name, timeouts: count }) => (
        <FlowButton key={name} side={side} name={name} more={`, ${counted(count, "timeout")}`} />
      ))}
    </form>
  );
}

function Answer({ side }: { side: SideName }) {
  const explaining = sides[side].explaining.value;
  switch (explaining.kind) {
    case "none":
      return null;
    case "running":
      return (
        <p role="status">
          Running again with a record of the flow: {formatPercent(explaining.part)}{" "}
          <progress value={explaining.part} aria-label="The second run" />{" "}
          <button
            type="button"
            class="small"
            onClick={() => {
              sides[side].stopExplaining();
            }}
          >
            Stop explaining
          </button>
        </p>
      );
    case "failed":
      return (
        <p class="bad" role="alert">
          {explaining.message}
        </p>
      );
    case "done":
      return <Words side={side} explanation={explaining.explanation} />;
  }
}

function Words({ side, explanation }: { side: SideName; explanation: Explanation }) {
  const answer = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const panel = document.getElementById(panelOf(side));
    if (panel && answer.current) panel.scrollTop += topOf(answer.current) - topOf(panel);
  }, [explanation]);
  const { name, flow, hosts, extent, headline, path, chains, story, digest } = explanation;
  return (
    <div ref={answer} class="answer" role="status">
      <Close side={side} />
      <p>
        <strong>
          {name} (flow {flow}), {hosts[0]} to {hosts[1]}
        </strong>
        : {extent}
      </p>
      <p class="headline">{headline}</p>
      {path.rows.length > 0 && <Parts rows={path.rows} />}
      {chains.map(({ title, timer, steps }) => (
        <section key={timer.at} aria-label={title}>
          <h3>
            <At side={side} at={timer.at} text={title} />
            {timer.cause && ` (${timer.cause})`}
          </h3>
          <Steps side={side} steps={steps} />
        </section>
      ))}
      <section aria-label="In order">
        <h3>In order</h3>
        <Steps side={side} steps={story} />
      </section>
      <p class="faint">Run again with a record: identical run, digest {digest}.</p>
    </div>
  );
}

function topOf(element: Element): number {
  return element.getBoundingClientRect().top;
}

function Close({ side }: { side: SideName }) {
  return (
    <button
      type="button"
      class="small close"
      aria-label="Close the explanation"
      onClick={() => {
        sides[side].stopExplaining();
        moveTo(side);
      }}
    >
      Close
    </button>
  );
}

function Parts({ rows }: { rows: Explanation["path"]["rows"] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">on its critical path</th>
          <th scope="col">time</th>
          <th scope="col">share</th>
          <th scope="col">most of it at</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([part, time, share, port]) => (
          <tr key={part}>
            <th scope="row">{part}</th>
            <td>{time}</td>
            <td>{share}</td>
            <td>{port}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Steps({ side, steps }: { side: SideName; steps: readonly Step[] }) {
  return (
    <ol>
      {steps.map(({ at, when, text }, place) => (
        <li key={place}>
          <At side={side} at={at} text={when} /> {text}
        </li>
      ))}
    </ol>
  );
}

/** An instant, which a click shows in the picture and in the charts. */
function At({ side, at, text }: { side: SideName; at: number; text: string }) {
  return (
    <button
      type="button"
      class="at"
      title="Show this instant"
      onClick={() => {
        show(side, at);
      }}
    >
      {text}
    </button>
  );
}
