// The editor in the page's colours.
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const frame = EditorView.theme({
  "&": {
    height: "100%",
    minHeight: "0",
    fontSize: "12.5px",
    backgroundColor: "var(--background)",
    color: "var(--text)",
  },
  ".cm-content": { fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace', caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": {
    backgroundColor: "color-mix(in srgb, var(--accent) 9%, transparent)",
  },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-completionInfo": { maxWidth: "320px", padding: "4px 8px" },
  ".cm-button, .cm-textfield": {
    backgroundColor: "var(--panel)",
    backgroundImage: "none",
    border: "1px solid var(--line)",
    color: "var(--text)",
  },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent) !important",
  },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--faint)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.atom], color: "var(--code-number)" },
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--text)" },
  { tag: [tags.heading, tags.bracket, tags.typeName], color: "var(--accent)" },
]);

/** Long lines are wrapped: the column is narrow, and their ends say what they do. */
export const look = [frame, syntaxHighlighting(colours), EditorView.lineWrapping];
