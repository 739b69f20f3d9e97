// Controllers of one's own: an editor for their code, templates, and the buttons that put a class into a run.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StreamLanguage, bracketMatching } from "@codemirror/language";
import { javascript } from "@codemirror/legacy-modes/mode/javascript";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { batch, effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { look } from "../editor/look";
import { allow, classes, code, isAllowed, settingsOf, usesCode } from "../state/code";
import { comparing, settings, shown, sides, text } from "../state/lab";
import type { SideName } from "../state/lab";
import { TEMPLATES } from "./templates";

export function CodePanel() {
  return (
    <section class="editor" aria-label="Control">
      <p class="faint">
        Write a congestion control in JavaScript, with the methods of incastle.Controller in Python. It runs
        in a worker that reaches neither the page nor the network.
      </p>
      <Templates />
      {!isAllowed.value && <Consent />}
      <Code />
      <div class="uses">
        {classes.value.length === 0 && <p class="bad">No class here derives from Controller.</p>}
        {classes.value.map((name) => (
          <p key={name}>
            <code>{name}</code> <Use name={name} side="a" /> <Use name={name} side="b" />
          </p>
        ))}
        {shown().map((side) => (
          <Mistake key={side} side={side} />
        ))}
      </div>
    </section>
  );
}

function Templates() {
  return (
    <label>
      <span class="visually-hidden">Begin with</span>
      <select
        class="wide"
        value=""
        onChange={(event) => {
          const chosen = TEMPLATES[Number(event.currentTarget.value)];
          if (chosen) allow(chosen.source);
        }}
      >
        <option value="" disabled>
          Begin with…
        </option>
        {TEMPLATES.map(({ title }, i) => (
          <option key={title} value={i}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Code that came with a link. */
function Consent() {
  return (
    <p class="notice" role="alert">
      This code came with a link. Read it before it runs.{" "}
      <button
        type="button"
        onClick={() => {
          allow(code.value);
        }}
      >
        Run this code
      </button>
    </p>
  );
}

/** Why a run with this code has failed. */
function Mistake({ side }: { side: SideName }) {
  const status = sides[side].status.value;
  if (status.kind !== "failed" || !isAllowed.value || !usesCode(text.value, settings[side].value))
    return null;
  return (
    <p class="bad" role="alert">
      {comparing.value ? `Run ${side.toUpperCase()}` : "The run"} has failed. {status.message}
    </p>
  );
}

function Use({ name, side }: { name: string; side: SideName }) {
  return (
    <button
      type="button"
      class="small"
      onClick={() => {
        use(name, side);
      }}
    >
      {side === "a" ? "Use it in the run" : "Compare with it as run B"}
    </button>
  );
}

/** Run B differs from run A by the control alone. */
function use(name: string, side: SideName): void {
  batch(() => {
    settings[side].value = { ...settings.a.value, ...settingsOf(name, text.value) };
    if (side === "b") comparing.value = true;
  });
}

function Code() {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!box.current) return undefined;
    const view = make(box.current);
    const unfollow = effect(() => {
      const now = code.value;
      if (now === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } });
    });
    return () => {
      unfollow();
      view.destroy();
    };
  }, []);
  return <div ref={box} class="editor-box" />;
}

function make(box: HTMLDivElement): EditorView {
  const root = box.shadowRoot ?? box.attachShadow({ mode: "open" });
  const state = EditorState.create({
    doc: code.peek(),
    extensions: [
      lineNumbers(),
      history(),
      bracketMatching(),
      StreamLanguage.define(javascript),
      keymap.of([...defaultKeymap, ...historyKeymap]),
      EditorView.contentAttributes.of({ "aria-label": "Controllers, JavaScript", tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        // What the page put there is no typing.
        const now = update.state.doc.toString();
        if (now !== code.peek()) allow(now);
      }),
      look,
    ],
  });
  const view = new EditorView({ state, parent: root, root });
  view.scrollDOM.removeAttribute("tabindex");
  return view;
}
