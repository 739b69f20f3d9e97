import { describe, expect, it } from "vitest";
import { placeAt } from "./place";

/** The place at the bar. */
function at(marked: string): unknown {
  const position = marked.indexOf("|");
  const place = placeAt(marked.replace("|", ""), position);
  return (
    place && { kind: place.kind, path: place.path.join("."), typed: place.typed, from: position - place.from }
  );
}

describe("the place of the cursor", () => {
  it("in a header", () => {
    expect(at("[switch.qu|")).toEqual({ kind: "header", path: "switch", typed: "qu", from: 2 });
  });
  it("at a key of a table", () => {
    expect(at("[run]\nseed = 1\n[switch.queue]\nki|")).toEqual({
      kind: "key",
      path: "switch.queue",
      typed: "ki",
      from: 2,
    });
  });
  it("at a key before any table", () => {
    expect(at("na|")).toEqual({ kind: "key", path: "", typed: "na", from: 2 });
  });
  it("at a dotted key", () => {
    expect(at("[switch]\nqueue.mark|")).toEqual({
      kind: "key",
      path: "switch.queue",
      typed: "mark",
      from: 4,
    });
  });
  it("at a value", () => {
    expect(at('[transport]\ncongestion = "dc|')).toEqual({
      kind: "value",
      path: "transport.congestion",
      typed: '"dc',
      from: 3,
    });
  });
  it("at a key of an inline table", () => {
    expect(at('[measure]\nqueue = { every = "1 ms", po|')).toEqual({
      kind: "key",
      path: "measure.queue",
      typed: "po",
      from: 2,
    });
  });
  it("at a value of an inline table", () => {
    expect(at("[flows.a]\ntransport = { kind = |")).toEqual({
      kind: "value",
      path: "flows.a.transport.kind",
      typed: "",
      from: 0,
    });
  });
  it("after a closed inline table there is nothing to complete but the value", () => {
    expect(at("[a]\nb = { c = 1 }|")).toMatchObject({ kind: "value", path: "a.b" });
  });
  it("not in a comment", () => {
    expect(at('[a]\nb = "#" # see b|')).toBeUndefined();
  });
});
