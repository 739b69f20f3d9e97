// Completion of keys and values from the schema of the scenario language.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { placeAt } from "./place";
import type { Place } from "./place";
import { keysAt, valuesAt } from "./schema";
import type { JsonSchema } from "./schema";

export function completions(schema: () => JsonSchema | undefined) {
  return (context: CompletionContext): CompletionResult | null => {
    const known = schema();
    const place = placeAt(context.state.doc.toString(), context.pos);
    if (!known || !place || (place.typed === "" && !context.explicit)) return null;
    const options = place.kind === "value" ? values(known, place) : keys(known, place);
    return options.length > 0 ? { from: place.from, options, validFor: /^["\w-]*$/ } : null;
  };
}

function keys(schema: JsonSchema, place: Place): Completion[] {
  const header = place.kind === "header";
  return keysAt(schema, place.path)
    .filter((key) => !header || key.table)
    .map(({ name, description }) => ({
      label: name,
      type: "property",
      info: description,
      apply: header ? name : `${name} = `,
    }));
}

function values(schema: JsonSchema, place: Place): Completion[] {
  return valuesAt(schema, place.path).map((value) => ({ label: value, type: "enum" }));
}
