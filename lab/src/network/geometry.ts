// The picture in pixels: nodes, the two directions of each link next to each other, and the queue of each port at the end
// where the port is.
import type { Picture, PicturePort } from "../worker/protocol";
import type { Layout } from "./layout";

export interface Point {
  x: number;
  y: number;
}

export interface NodeShape extends Point {
  radius: number;
  /** Room for its name along the layer. */
  room: number;
}

export interface PortShape {
  /** The line of this direction, from the node of the port. */
  begin: Point;
  end: Point;
  /** Unit vector from the port along the link. */
  along: Point;
  width: number;
  /** The bar of the queue, along the link from the node on. */
  queueLength: number;
  queueWidth: number;
}

export interface Geometry {
  nodes: NodeShape[];
  ports: PortShape[];
}

/** Room for names at the ends of the layers, and across them. */
const ENDS = 80;
const TOP = 34;
const EDGE = 12;

export function geometry(picture: Picture, layout: Layout, width: number, height: number): Geometry {
  const extent = (layout.horizontal ? height : width) - 2 * EDGE;
  const nodes = layout.places.map(({ layer, across, crowd }) => {
    const spacing = extent / crowd;
    const at = layout.horizontal
      ? { x: ENDS + layer * (width - 2 * ENDS), y: EDGE + across * extent }
      : { x: EDGE + across * extent, y: height - TOP - layer * (height - 2 * TOP) };
    return { ...at, radius: clamp(spacing * 0.3, 2, 11), room: spacing };
  });
  const crowds = crowdsOf(picture, layout);
  const ports = picture.ports.map((port, i) => shape(port, nodes, crowds[i] ?? 1));
  return { nodes, ports };
}

/** For each port: how many links its node has in the same direction. */
function crowdsOf(picture: Picture, layout: Layout): number[] {
  const towards = new Map<string, number>();
  const key = (from: number, to: number): string =>
    `${from} ${Math.sign((layout.places[to]?.layer ?? 0) - (layout.places[from]?.layer ?? 0))}`;
  for (const { from, to } of picture.ports) towards.set(key(from, to), (towards.get(key(from, to)) ?? 0) + 1);
  return picture.ports.map(({ from, to }) => towards.get(key(from, to)) ?? 1);
}

function shape(port: PicturePort, nodes: readonly NodeShape[], crowd: number): PortShape {
  const a = nodes[port.from] ?? NOWHERE;
  const b = nodes[port.to] ?? NOWHERE;
  const length = Math.max(1, Math.hypot(b.x - a.x, b.y - a.y));
  const along = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
  const width = clamp(Math.min(a.radius, b.radius) * 0.4, 1, 4);
  // Traffic keeps to the right of its link, so both directions are seen.
  const aside = { x: -along.y * width * 1.3, y: along.x * width * 1.3 };
  const begin = Math.min(a.radius + 2, length / 3);
  const end = Math.min(b.radius + 2, length / 3);
  return {
    begin: { x: a.x + along.x * begin + aside.x, y: a.y + along.y * begin + aside.y },
    end: { x: b.x - along.x * end + aside.x, y: b.y - along.y * end + aside.y },
    along,
    width,
    queueLength: clamp((length - begin - end) * 0.4, 4, 80),
    queueWidth: clamp(Math.max(width * 2, 22 / crowd), 3, 12),
  };
}

const NOWHERE: NodeShape = { x: 0, y: 0, radius: 0, room: 0 };

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}

/** The port whose line is nearest to a point, within a distance. */
export function portAt({ ports }: Geometry, point: Point, within = 8): number | undefined {
  let nearest: number | undefined;
  let least = within;
  ports.forEach((port, i) => {
    const distance = distanceToLine(point, port.begin, port.end);
    if (distance < least) {
      least = distance;
      nearest = i;
    }
  });
  return nearest;
}

export function nodeAt({ nodes }: Geometry, point: Point): number | undefined {
  const found = nodes.findIndex((node) => Math.hypot(node.x - point.x, node.y - point.y) <= node.radius + 3);
  return found === -1 ? undefined : found;
}

function distanceToLine(point: Point, a: Point, b: Point): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const square = dx * dx + dy * dy;
  const part = square === 0 ? 0 : ((point.x - a.x) * dx + (point.y - a.y) * dy) / square;
  const on = clamp(part, 0, 1);
  return Math.hypot(point.x - a.x - on * dx, point.y - a.y - on * dy);
}
