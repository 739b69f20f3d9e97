// Where in a scenario the cursor is: in a header, at a key, or at a value, and below which tables.

export interface Place {
  kind: "header" | "key" | "value";
  /** Tables and keys that lead here; of a value the last one is its key. */
  path: string[];
  /** What has been typed of the word, and where it begins. */
  typed: string;
  from: number;
}

export function placeAt(text: string, position: number): Place | undefined {
  const before = text.slice(0, position);
  const start = before.lastIndexOf("\n") + 1;
  const line = before.slice(start);
  if (inComment(line)) return undefined;
  const header = /^\s*\[\s*([\w.-]*)$/.exec(line);
  if (header) return dotted("header", [], header[1] ?? "", position);
  return inLine(line, tableBefore(before.slice(0, start)), position);
}

/** A `#` outside of quotes. */
function inComment(line: string): boolean {
  let quote = "";
  for (const letter of line) {
    if (quote) quote = letter === quote ? "" : quote;
    else if (letter === '"' || letter === "'") quote = letter;
    else if (letter === "#") return true;
  }
  return false;
}

/** The path of the last header. */
function tableBefore(text: string): string[] {
  const headers = [...text.matchAll(/^\s*\[+\s*([^\]\n]+?)\s*\]/gm)];
  return parts(headers.at(-1)?.[1] ?? "");
}

/** A key, or a value after its key; inline tables and lists within it are followed. */
function inLine(line: string, table: string[], position: number): Place | undefined {
  let path = table;
  let rest = line;
  for (;;) {
    const assigned = /^\s*([\w.-]+)\s*=\s*(.*)$/s.exec(rest);
    if (!assigned) break;
    const key = parts(assigned[1] ?? "");
    const value = assigned[2] ?? "";
    const opened = openTable(value);
    if (opened === undefined) return valuePlace([...path, ...key], value, position);
    path = [...path, ...key];
    rest = opened;
  }
  const word = /^\s*([\w.-]*)$/.exec(rest);
  return word ? dotted("key", path, word[1] ?? "", position) : undefined;
}

/** The last entry of an inline table that is still open at the end of a value. */
function openTable(value: string): string | undefined {
  if (!value.startsWith("{")) return undefined;
  let depth = 0;
  let from = 0;
  for (let i = 0; i < value.length; i += 1) {
    const letter = value[i];
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    if (depth === 1 && (letter === "{" || letter === ",")) from = i + 1;
  }
  return depth > 0 ? value.slice(from) : undefined;
}

function valuePlace(path: string[], value: string, position: number): Place {
  const typed = /[^\s[,]*$/.exec(value)?.[0] ?? "";
  return { kind: "value", path, typed, from: position - typed.length };
}

function dotted(kind: "header" | "key", table: string[], word: string, position: number): Place {
  const names = word.split(".");
  const typed = names.pop() ?? "";
  return { kind, path: [...table, ...names], typed, from: position - typed.length };
}

function parts(name: string): string[] {
  return name === "" ? [] : name.split(".").map((part) => part.trim().replace(/^["']|["']$/g, ""));
}
