// The scenario's text, with completion and with the checker's diagnostics at their places. The editor lives in a shadow
// root: there its style sheets are adopted by script, which the page's policy allows, where style elements are refused.
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { StreamLanguage, bracketMatching } from "@codemirror/language";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { batch, effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fileName } from "../link/command";
import { comparing, experiment, settings, shown, text } from "../state/lab";
import { overridesOf } from "../state/overrides";
import { checked, engine } from "../state/runs";
import type { Diagnostic } from "../worker/protocol";
import { completions } from "./completion";
import { look } from "./look";
import { marks } from "./problems";
import type { JsonSchema } from "./schema";

export function Editor() {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  useEffect(() => {
    if (!box.current) return undefined;
    const made = make(box.current);
    view.current = made;
    const unfollow = follow(made);
    return () => {
      unfollow();
      made.destroy();
    };
  }, []);
  return (
    <section class="editor" aria-label="Scenario">
      <p class="faint">The scenario in full. Ctrl-Space completes keys and values; changes run at once.</p>
      <OnTop />
      <div ref={box} class="editor-box" />
      <div class="problems" role="status">
        <Problems
          found={checked.value?.diagnostics ?? []}
          go={(line) => {
            if (view.current) goTo(view.current, line);
          }}
        />
      </div>
    </section>
  );
}

/** Settings that count in place of what the text has for their keys. */
function OnTop() {
  const found = shown().flatMap((side) => overridesOf(settings[side].value).map((one) => ({ side, one })));
  if (found.length === 0) return null;
  return (
    <p class="on-top">
      Settings that count in place of the text:{" "}
      {found.map(({ side, one: [key, value] }, i) => (
        <span key={`${side} ${key}`}>
          {i > 0 && ", "}
          {comparing.value && `${side.toUpperCase()}: `}
          <code>
            {key} = {value}
          </code>
        </span>
      ))}
    </p>
  );
}

function make(box: HTMLDivElement): EditorView {
  const root = box.shadowRoot ?? box.attachShadow({ mode: "open" });
  let schema: JsonSchema | undefined;
  const known = (): JsonSchema | undefined => {
    if (engine.value) schema ??= JSON.parse(engine.value.schema) as JsonSchema;
    return schema;
  };
  const state = EditorState.create({
    doc: text.peek(),
    extensions: [
      lineNumbers(),
      history(),
      highlightActiveLine(),
      bracketMatching(),
      closeBrackets(),
      StreamLanguage.define(toml),
      autocompletion({ override: [completions(known)] }),
      lintGutter(),
      keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": "Scenario, TOML", tabindex: "0" }),
      EditorView.updateListener.of((update) => {
        if (update.docChanged) typed(update.state.doc.toString());
      }),
      look,
    ],
  });
  const view = new EditorView({ state, parent: root, root });
  // The text in it takes the focus; a second stop for the keyboard would only be in the way.
  view.scrollDOM.removeAttribute("tabindex");
  return view;
}

/** A scenario with another name is another experiment: words and sliders of the gallery do not fit it. */
function typed(now: string): void {
  batch(() => {
    text.value = now;
    const from = experiment.value;
    if (from && fileName(now) !== fileName(from.text)) experiment.value = undefined;
  });
}

/** Other parts of the page change the text too; the checker's answer comes later. */
function follow(view: EditorView): () => void {
  const stopText = effect(() => {
    const now = text.value;
    if (now !== view.state.doc.toString()) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } });
    }
  });
  const stopMarks = effect(() => {
    const found = checked.value?.diagnostics ?? [];
    view.dispatch(setDiagnostics(view.state, marks(view.state.doc, found)));
  });
  return () => {
    stopText();
    stopMarks();
  };
}

function goTo(view: EditorView, line: number): void {
  const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: from }, scrollIntoView: true });
  view.focus();
}

function Problems({ found, go }: { found: readonly Diagnostic[]; go: (line: number) => void }) {
  if (found.length === 0) return <p>The scenario is correct.</p>;
  return (
    <ul>
      {found.map((one, i) => (
        <li key={i} class={one.severity === "error" ? "bad" : ""}>
          {one.line > 0 ? (
            <button
              type="button"
              class="small"
              onClick={() => {
                go(one.line);
              }}
            >
              Line {one.line}
            </button>
          ) : (
            "Settings:"
          )}{" "}
          {one.severity === "warning" && "Warning: "}
          {one.message}
          {one.help && <div class="faint">{one.help}</div>}
        </li>
      ))}
    </ul>
  );
}
