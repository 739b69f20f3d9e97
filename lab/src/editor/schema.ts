// Questions to the JSON Schema of the scenario language: which keys a table can have, which values a key.

export interface JsonSchema {
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  allOf?: JsonSchema[];
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  type?: string | string[];
  description?: string;
}

export interface Key {
  name: string;
  description: string;
  /** It has keys of its own, so it can be a header. */
  table: boolean;
}

/** The keys of the table at a path. */
export function keysAt(schema: JsonSchema, path: readonly string[]): Key[] {
  const keys = new Map<string, Key>();
  for (const node of nodesAt(schema, path)) {
    for (const [name, value] of Object.entries(node.properties ?? {})) {
      const table = alternatives(value).some(isTable);
      if (!keys.has(name)) keys.set(name, { name, description: value.description ?? "", table });
    }
  }
  return [...keys.values()];
}

/** The values that a key can have, as TOML; empty for numbers and quantities. */
export function valuesAt(schema: JsonSchema, path: readonly string[]): string[] {
  const values = new Set<string>();
  for (const node of nodesAt(schema, path)) {
    const listed = [...(node.enum ?? []), ...("const" in node ? [node.const] : [])];
    for (const value of listed) values.add(JSON.stringify(value));
    if (node.type === "boolean") ["true", "false"].forEach((value) => values.add(value));
    if (node.default !== undefined && typeof node.default !== "object")
      values.add(JSON.stringify(node.default));
  }
  return [...values];
}

export function descriptionAt(schema: JsonSchema, path: readonly string[]): string | undefined {
  return nodesAt(schema, path).find((node) => node.description)?.description;
}

function isTable(node: JsonSchema): boolean {
  return node.properties !== undefined || typeof node.additionalProperties === "object";
}

/** All schemas that can hold at a path: labels such as `flows.NAME` follow the schema of any label. */
function nodesAt(schema: JsonSchema, path: readonly string[]): JsonSchema[] {
  let nodes = alternatives(schema);
  for (const key of path) nodes = nodes.flatMap((node) => below(node, key));
  return nodes;
}

function below(node: JsonSchema, key: string): JsonSchema[] {
  const known = node.properties?.[key];
  if (known) return alternatives(known);
  return typeof node.additionalProperties === "object" ? alternatives(node.additionalProperties) : [];
}

function alternatives(node: JsonSchema): JsonSchema[] {
  const inner = [...(node.anyOf ?? []), ...(node.oneOf ?? []), ...(node.allOf ?? [])];
  return [node, ...inner.flatMap(alternatives)];
}
