// Charts and tables as comma-separated values (RFC 4180).
import { tableFromIPC } from "@uwdata/flechette";
import type { LineSet } from "../charts/lines";

/** One row for each point: line, x, value. */
export function csvOfLines({ lines, unit }: LineSet, over: "time_s" | "fct_s"): string {
  const rows = [["line", over, unit === "rate" ? "bit_s" : unit].join(",")];
  for (const { name, x, y } of lines) {
    for (let i = 0; i < x.length; i += 1) rows.push(`${field(name)},${x[i] ?? ""},${y[i] ?? ""}`);
  }
  return `${rows.join("\r\n")}\r\n`;
}

export function csvOfTable(arrow: Uint8Array): string {
  const table = tableFromIPC(arrow);
  const rows = [table.names.map((name) => field(name)).join(",")];
  const columns = table.names.map((name) => table.getChild(name));
  for (let row = 0; row < table.numRows; row += 1) {
    rows.push(columns.map((column) => value(column.at(row))).join(","));
  }
  return `${rows.join("\r\n")}\r\n`;
}

function value(cell: unknown): string {
  return typeof cell === "string"
    ? field(cell)
    : typeof cell === "number" || typeof cell === "bigint"
      ? `${cell}`
      : "";
}

function field(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
