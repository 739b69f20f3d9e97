// The checker's diagnostics as the editor marks them: from the place that the checker names to the end of the word.
import type { Diagnostic as Mark } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import type { Diagnostic } from "../worker/protocol";

/** Diagnostics of settings have no line; they are shown with the run. */
export function marks(document: Text, diagnostics: readonly Diagnostic[]): Mark[] {
  return diagnostics.filter(({ line }) => line > 0).map((one) => mark(document, one));
}

function mark(document: Text, { line, column, severity, message, help }: Diagnostic): Mark {
  const { from, text } = document.line(Math.min(line, document.lines));
  const begin = offset(text, column);
  const word = /^("[^"]*"?|'[^']*'?|[^\s#]+)?/.exec(text.slice(begin))?.[0] ?? "";
  return {
    from: from + begin,
    to: from + Math.min(text.length, begin + Math.max(1, word.length)),
    severity,
    message: help ? `${message}\n${help}` : message,
  };
}

/** Columns count characters; the editor counts UTF-16 units. */
function offset(text: string, column: number): number {
  const before = Array.from(text)
    .slice(0, Math.max(0, column - 1))
    .join("");
  return Math.min(before.length, text.length);
}
