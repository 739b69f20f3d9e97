// Share and save: the link, the scenario, the command that repeats a run, and the tables of its result.
import { useSignal } from "@preact/signals";
import { commandOf, fileName } from "../link/command";
import { currentLink } from "../link/keeping";
import { usesCode } from "../state/code";
import { comparing, settings, shown, sides, text } from "../state/lab";
import type { SideName } from "../state/lab";
import { csvOfTable } from "./csv";
import { download, textFile } from "./download";

export function SavePanel() {
  return (
    <section aria-label="Share and save">
      <h2>Link</h2>
      <p>
        It holds scenario, settings and view. Nothing of it reaches a server: the page reads it by itself.
      </p>
      <Copy label="Copy the link" content={currentLink} />
      <h2>Repeat it</h2>
      <p>With the scenario as a file, the command line gives the same digest.</p>
      <button
        type="button"
        onClick={() => {
          download(`${fileName(text.value)}.toml`, textFile(text.value, "application/toml"));
        }}
      >
        Download the scenario
      </button>
      {shown().map((side) => (
        <Command key={side} side={side} />
      ))}
      <h2>Tables</h2>
      {shown().map((side) => (
        <Tables key={side} side={side} />
      ))}
      <p class="faint">Each chart has a menu that saves it as PNG, SVG or CSV.</p>
    </section>
  );
}

function Command({ side }: { side: SideName }) {
  const command = commandOf(text.value, settings[side].value);
  return (
    <>
      {comparing.value && <h3>Run {side.toUpperCase()}</h3>}
      {usesCode(text.value, settings[side].value) && (
        <p class="faint">
          Its control is code of this page. The command line needs the same class in Python, with{" "}
          <code>FILE.py:CLASS</code> as its controller.
        </p>
      )}
      <pre class="command" tabIndex={0} aria-label="Command">
        {command}
      </pre>
      <Copy label="Copy the command" content={() => command} />
    </>
  );
}

/** Copies, and shows what to copy by hand where the browser refuses. */
function Copy({ label, content }: { label: string; content: () => string }) {
  const state = useSignal<"ready" | "copied" | "refused">("ready");
  const copy = (): void => {
    navigator.clipboard.writeText(content()).then(
      () => {
        state.value = "copied";
        setTimeout(() => (state.value = "ready"), 2000);
      },
      () => (state.value = "refused"),
    );
  };
  return (
    <>
      <button type="button" onClick={copy}>
        {state.value === "copied" ? "Copied" : label}
      </button>
      {state.value === "refused" && (
        <label class="by-hand">
          Copy it from here:
          <textarea readOnly rows={4} value={content()} />
        </label>
      )}
    </>
  );
}

function Tables({ side }: { side: SideName }) {
  const status = sides[side].status.value;
  if (status.kind !== "done") return <p class="faint">Available when the run is over.</p>;
  const { tables } = status.outcome;
  return (
    <label class="table-choice">
      {comparing.value ? `Run ${side.toUpperCase()} ` : ""}
      <select
        aria-label={comparing.value ? undefined : "Download a table"}
        value=""
        onChange={(event) => {
          const name = event.currentTarget.value;
          const table = tables[name];
          event.currentTarget.value = "";
          if (table) download(`${fileName(text.value)}-${name}.csv`, textFile(csvOfTable(table), "text/csv"));
        }}
      >
        <option value="">Download a table…</option>
        {Object.keys(tables).map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
