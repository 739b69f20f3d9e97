import { describe, expect, it } from "vitest";
import type { Picture, PictureNode } from "../worker/protocol";
import { layout } from "./layout";

function picture(links: [string, string][]): Picture {
  const names = [...new Set(links.flat())];
  const nodes: PictureNode[] = names.map((name) => ({
    name,
    kind: /^(host|sender|receiver)/.test(name) ? "host" : "switch",
  }));
  const ports = links.flatMap(([a, b]) =>
    [
      [a, b],
      [b, a],
    ].map(([from = "", to = ""]) => ({
      name: `${from}->${to}`,
      from: names.indexOf(from),
      to: names.indexOf(to),
      rate_bit_s: 1e9,
      delay_s: 1e-6,
    })),
  );
  return { name: "test", duration_s: 1, nodes, ports };
}

function layerOf(drawn: Picture, name: string): number {
  return layout(drawn).places[drawn.nodes.findIndex((node) => node.name === name)]?.layer ?? NaN;
}

describe("the layout", () => {
  it("runs towards the receiver in a tree", () => {
    const tree = picture([
      ["receiver", "switch:0"],
      ["switch:0", "switch:1"],
      ["switch:0", "switch:2"],
      ["switch:1", "sender:0"],
      ["switch:2", "sender:1"],
    ]);
    expect(layout(tree).horizontal).toBe(true);
    expect(["sender:0", "switch:1", "switch:0", "receiver"].map((name) => layerOf(tree, name))).toEqual([
      0,
      1 / 3,
      2 / 3,
      1,
    ]);
  });

  it("stands on the hosts in a leaf-spine", () => {
    const fabric = picture([
      ["host:0", "leaf:0"],
      ["host:1", "leaf:1"],
      ["leaf:0", "spine:0"],
      ["leaf:1", "spine:0"],
    ]);
    expect(layout(fabric).horizontal).toBe(false);
    expect(["host:0", "leaf:1", "spine:0"].map((name) => layerOf(fabric, name))).toEqual([0, 0.5, 1]);
  });

  it("orders switches as their hosts", () => {
    const crossed = picture([
      ["host:0", "leaf:b"],
      ["host:1", "leaf:a"],
      ["leaf:a", "spine"],
      ["leaf:b", "spine"],
    ]);
    const { places } = layout(crossed);
    const across = (name: string): number =>
      places[crossed.nodes.findIndex((node) => node.name === name)]?.across ?? NaN;
    expect(across("leaf:b")).toBeLessThan(across("leaf:a"));
  });

  it("has a place for a lone node", () => {
    const lone = { ...picture([]), nodes: [{ name: "host:0", kind: "host" as const }] };
    expect(layout(lone).places).toEqual([{ layer: 0.5, across: 0.5, crowd: 1 }]);
  });
});
