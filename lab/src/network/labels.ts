// Names of nodes in the picture, where there is room for them.
import type { NodeShape } from "./geometry";
import type { Layout } from "./layout";
import type { Scene } from "./draw";
import type { Pen } from "./pen";

/** Height and mean width of a letter, in pixels. */
const LINE = 15;
const LETTER = 6.2;

/** Between a node and its name. Above a node, the rim of a letter such as "g" must not cover it. */
const GAP = 5;
const GAP_ABOVE = 8;

/** The part of a scene that stands still. */
type Still = Pick<Scene, "picture" | "geometry" | "palette">;

export function drawLabels(pen: Pen, scene: Still, layout: Layout): void {
  const { geometry, picture, palette } = scene;
  pen.fillStyle = palette.faint;
  pen.font = "12px system-ui, sans-serif";
  // Names stay legible where links cross them.
  pen.strokeStyle = palette.background;
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  picture.nodes.forEach((node, i) => {
    const at = geometry.nodes[i];
    const place = layout.places[i];
    if (!at || !place) return;
    const name = fitting(node.name, node.kind === "host", at.room, layout.horizontal);
    if (name === undefined) return;
    if (layout.horizontal) nextTo(pen, name, at, place.layer);
    else below(pen, name, at, node.kind === "host");
  });
}

/** Left of the first layer, right of the last one, above all others. */
function nextTo(pen: Pen, name: string, at: NodeShape, layer: number): void {
  const gap = at.radius + GAP;
  const outside = layer === 0 ? -gap : layer === 1 ? gap : 0;
  pen.textAlign = outside < 0 ? "right" : outside > 0 ? "left" : "center";
  pen.textBaseline = outside === 0 ? "alphabetic" : "middle";
  write(pen, name, at.x + outside, outside === 0 ? above(at) : at.y);
}

/** Below hosts, above switches. */
function below(pen: Pen, name: string, at: NodeShape, host: boolean): void {
  pen.textAlign = "center";
  pen.textBaseline = host ? "top" : "alphabetic";
  write(pen, name, at.x, host ? at.y + at.radius + GAP : above(at));
}

function above({ y, radius }: NodeShape): number {
  return y - radius - GAP_ABOVE;
}

function write(pen: Pen, name: string, x: number, y: number): void {
  pen.strokeText(name, x, y);
  pen.fillText(name, x, y);
}

/** The name, or its number, or nothing. Of hosts in a row the number is enough: "host:12" is "12". */
function fitting(name: string, host: boolean, room: number, horizontal: boolean): string | undefined {
  if (horizontal) return room >= LINE ? name : undefined;
  const number = name.slice(name.lastIndexOf(":") + 1);
  return [host ? number : name, number].find((text) => (text.length + 1) * LETTER <= room);
}
