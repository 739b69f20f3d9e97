// Where an exception began in the code of somebody's controllers: line and column, as the editor counts them.
import { LINES_BEFORE } from "./source";

/** In the script that was made of the code. */
interface Place {
  line: number;
  column: number;
}

/** The words that follow a message; nothing for an exception that was not thrown below the code. */
export function origin(error: Error, address: string, source: string): string {
  const place = inStack(error.stack, address) ?? asReported(error, address);
  if (!place) return "";
  const line = place.line - LINES_BEFORE;
  // Where a bracket is missing, the parser finds that behind the code.
  return line > source.split("\n").length ? " (at its end)" : ` (line ${line}, column ${place.column})`;
}

/** The innermost call from the code. All browsers write its place as address:line:column. */
export function inStack(stack: unknown, address: string): Place | undefined {
  if (typeof stack !== "string") return undefined;
  const [, after] = stack.split(`${address}:`);
  const [, line, column] = /^(\d+):(\d+)/.exec(after ?? "") ?? [];
  return line === undefined ? undefined : { line: Number(line), column: Number(column) };
}

/** The place of a parser's error is in no stack, but in the report of an error that nobody caught. */
function asReported(error: Error, address: string): Place | undefined {
  let place: Place | undefined;
  const hear = (event: ErrorEvent): void => {
    event.preventDefault();
    if (event.filename === address) place = { line: event.lineno, column: event.colno };
  };
  self.addEventListener("error", hear);
  self.reportError(error);
  self.removeEventListener("error", hear);
  return place;
}
