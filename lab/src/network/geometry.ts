// The picture in pixels: nodes, the two directions of each link next to each other, and the queue of each port at the end
// where the port is.
import type { Picture } from "../worker/protocol";
import type { Layout } from "./layout";

export interface Point {
  x: number;
  y: number;
}

export interface PortShape {
  /** The line of this direction, from the node of the port. */
  begin: Point;
  end: Point;
  /** Unit vector from the port along the link. */
  along: Point;
  /** The queue's place: a bar along the link that starts at the node. */
  queueLength: number;
}

export interface Geometry {
  nodes: Point[];
  ports: PortShape[];
  radius: number;
  /** Width of a queue's bar, and of a link's line. */
  bar: number;
  line: number;
  labels: boolean;
}

const MARGIN = 44;

export function geometry(picture: Picture, layout: Layout, width: number, height: number): Geometry {
  const nodes = layout.places.map(({ layer, across }) =>
    layout.horizontal
      ? { x: MARGIN * 1.8 + layer * (width - MARGIN * 3.6), y: 12 + across * (height - 24) }
      : { x: 12 + across * (width - 24), y: height - MARGIN * 0.8 - layer * (height - MARGIN * 1.6) },
  );
  const spacing = ((layout.horizontal ? height : width) - 24) / layout.widest;
  const radius = Math.max(2, Math.min(11, spacing * 0.3));
  const bar = Math.max(2, Math.min(9, spacing * 0.16));
  const ports = picture.ports.map((port) => shape(nodes[port.from], nodes[port.to], radius, bar));
  return {
    nodes,
    ports,
    radius,
    bar,
    line: Math.max(1, Math.min(4, spacing * 0.1)),
    labels: spacing >= 15,
  };
}

function shape(from: Point | undefined, to: Point | undefined, radius: number, bar: number): PortShape {
  const a = from ?? { x: 0, y: 0 };
  const b = to ?? { x: 0, y: 0 };
  const length = Math.max(1, Math.hypot(b.x - a.x, b.y - a.y));
  const along = { x: (b.x - a.x) / length, y: (b.y - a.y) / length };
  // Traffic keeps to the right of its link, so both directions are seen.
  const side = { x: -along.y * bar * 0.7, y: along.x * bar * 0.7 };
  const gap = Math.min(radius + 2, length / 3);
  return {
    begin: { x: a.x + along.x * gap + side.x, y: a.y + along.y * gap + side.y },
    end: { x: b.x - along.x * gap + side.x, y: b.y - along.y * gap + side.y },
    along,
    queueLength: Math.max(4, Math.min(70, (length - 2 * gap) * 0.4)),
  };
}

/** The port whose line is nearest to a point, within a distance. */
export function portAt(shapes: Geometry, point: Point, within = 8): number | undefined {
  let nearest: number | undefined;
  let least = within;
  shapes.ports.forEach((port, i) => {
    const distance = distanceToLine(point, port.begin, port.end);
    if (distance < least) {
      least = distance;
      nearest = i;
    }
  });
  return nearest;
}

export function nodeAt(shapes: Geometry, point: Point): number | undefined {
  const reach = shapes.radius + 3;
  const found = shapes.nodes.findIndex((node) => Math.hypot(node.x - point.x, node.y - point.y) <= reach);
  return found === -1 ? undefined : found;
}

function distanceToLine(point: Point, a: Point, b: Point): number {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const square = dx * dx + dy * dy;
  const part = square === 0 ? 0 : ((point.x - a.x) * dx + (point.y - a.y) * dy) / square;
  const on = Math.max(0, Math.min(1, part));
  return Math.hypot(point.x - a.x - on * dx, point.y - a.y - on * dy);
}
