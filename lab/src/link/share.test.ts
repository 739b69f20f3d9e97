import { describe, expect, it } from "vitest";
import { linkOf, opened } from "./share";
import type { Shared } from "./share";

const shared: Shared = {
  experiment: "tcp-dctcp",
  text: 'name = "µ → 日本"\n# a comment, and "quotes"\n',
  a: { "switch.buffer": "{ shared = '4 MB' }" },
  b: {},
  comparing: true,
  time_s: 0.0123,
  playing: false,
  speed: 0.25,
  zoom: [0.001, 0.002],
  ports: ["switch->receiver"],
};

describe("a link", () => {
  it("restores everything, byte by byte", () => {
    expect(opened(linkOf(shared))).toEqual({ kind: "shared", shared });
  });

  it("has only letters that addresses and mails leave alone", () => {
    expect(linkOf(shared)).toMatch(/^#1\.[\w-]+$/);
  });

  it("is nothing where there is none", () => {
    expect(opened("")).toEqual({ kind: "nothing" });
  });

  it("that was cut says so", () => {
    const cut = opened(linkOf(shared).slice(0, 60));
    expect(cut).toMatchObject({ kind: "problem", message: expect.stringContaining("damaged") as string });
  });

  it("with another letter never opens as another scenario", () => {
    const link = linkOf(shared);
    let problems = 0;
    for (let at = 3; at < link.length; at += 1) {
      const other = link[at] === "A" ? "B" : "A";
      const changed = opened(link.slice(0, at) + other + link.slice(at + 1));
      if (changed.kind === "shared") expect(changed.shared).toEqual(shared);
      else problems += 1;
    }
    expect(problems).toBeGreaterThan((link.length - 3) * 0.95);
  });

  it("of a newer format says what to do", () => {
    const newer = opened(linkOf(shared).replace("#1.", "#2."));
    expect(newer).toMatchObject({ kind: "problem", message: expect.stringContaining("--upgrade") as string });
  });

  it("with values of other types is damaged", () => {
    const wrong = { ...shared, a: { key: 3 } } as unknown as Shared;
    expect(opened(linkOf(wrong)).kind).toBe("problem");
  });
});
