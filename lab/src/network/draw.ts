// Draws the network at one instant: links by their use, queues that fill, marks and drops where they happen.
import type { Palette } from "../page/theme";
import type { Picture } from "../worker/protocol";
import type { Geometry, PortShape } from "./geometry";
import type { PortMoment } from "./moment";
import type { Pen } from "./pen";

export interface Scene {
  picture: Picture;
  geometry: Geometry;
  palette: Palette;
  /** Of each port, at the instant. */
  moments: readonly PortMoment[];
  /** The queue that fills a bar, in bytes. */
  fullQueue: number;
  /** Grows with the time shown; moves the dashes on busy links. */
  phase: number;
  charted: ReadonlySet<number>;
  hovered: number | undefined;
}

export function drawNetwork(pen: Pen, scene: Scene): void {
  drawLinks(pen, scene);
  drawFlow(pen, scene);
  scene.geometry.ports.forEach((shape, port) => {
    drawQueue(pen, scene, shape, port);
  });
  drawNodes(pen, scene);
  scene.geometry.ports.forEach((shape, port) => {
    drawLosses(pen, scene, shape, port);
    const paused = scene.moments[port]?.paused ?? 0;
    if (paused > 0) drawPause(pen, scene, shape, paused);
  });
}

/** Two bars across the link, as on a recorder; longer ones for a port that is paused most of the time. */
function drawPause(pen: Pen, { palette }: Scene, shape: PortShape, part: number): void {
  const half = Math.max(4, shape.width * 1.6) * (0.5 + part);
  const middle = { x: (shape.begin.x + shape.end.x) / 2, y: (shape.begin.y + shape.end.y) / 2 };
  for (const [width, colour] of [
    [5, palette.background],
    [2.5, palette.pause],
  ] as const) {
    pen.beginPath();
    for (const step of [-3, 3]) {
      const at = { x: middle.x + shape.along.x * step, y: middle.y + shape.along.y * step };
      pen.moveTo(at.x - shape.along.y * half, at.y + shape.along.x * half);
      pen.lineTo(at.x + shape.along.y * half, at.y - shape.along.x * half);
    }
    pen.lineWidth = width;
    pen.strokeStyle = colour;
    pen.stroke();
  }
}

/** Lines of one colour and width are one path: a large network has thousands. */
function drawLinks(pen: Pen, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  const levels = palette.use.length;
  const paths = new Map<string, Stroke>();
  geometry.ports.forEach((shape, port) => {
    const colour = palette.use[levelOf(moments[port]?.use ?? 0, levels)] ?? palette.idleLink;
    addLine(paths, shape, colour);
  });
  strokeAll(pen, paths);
}

interface Stroke {
  lines: PortShape[];
  colour: string;
  width: number;
}

function addLine(paths: Map<string, Stroke>, shape: PortShape, colour: string): void {
  const key = `${colour} ${shape.width}`;
  const stroke = paths.get(key) ?? { lines: [], colour, width: shape.width };
  paths.set(key, stroke);
  stroke.lines.push(shape);
}

function strokeAll(pen: Pen, paths: Map<string, Stroke>): void {
  for (const { lines, colour, width } of paths.values()) {
    pen.beginPath();
    for (const { begin, end } of lines) {
      pen.moveTo(begin.x, begin.y);
      pen.lineTo(end.x, end.y);
    }
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }
}

/** 0 for an idle link; every other level has an even share. */
function levelOf(use: number, levels: number): number {
  return use <= 0.001 ? 0 : Math.min(levels - 1, 1 + Math.floor(use * (levels - 1)));
}

/** Ports of a network in which moving gaps are still seen; dashes are also the slowest thing to draw. */
const MOST_MOVING = 600;

/** Short gaps run along links that carry something. */
function drawFlow(pen: Pen, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  if (moments.length > MOST_MOVING) return;
  const paths = new Map<string, Stroke>();
  geometry.ports.forEach((shape, port) => {
    if ((moments[port]?.use ?? 0) > 0.02) addLine(paths, shape, palette.background);
  });
  pen.setLineDash([3, 17]);
  pen.lineDashOffset = -scene.phase;
  strokeAll(pen, paths);
  pen.setLineDash([]);
}

function drawQueue(pen: Pen, scene: Scene, shape: PortShape, port: number): void {
  const { palette } = scene;
  const part = Math.min(1, (scene.moments[port]?.queueBytes ?? 0) / scene.fullQueue);
  const outlined = scene.hovered === port || scene.charted.has(port);
  if (part <= 0 && !outlined) return;
  pen.save();
  pen.translate(shape.begin.x, shape.begin.y);
  pen.rotate(Math.atan2(shape.along.y, shape.along.x));
  const half = shape.queueWidth / 2;
  if (part > 0) {
    pen.fillStyle = palette.queue;
    pen.fillRect(0, -half, Math.max(1.5, part * shape.queueLength), shape.queueWidth);
  }
  if (outlined) {
    pen.strokeStyle = palette.text;
    pen.lineWidth = scene.hovered === port ? 2 : 1;
    pen.strokeRect(0, -half, shape.queueLength, shape.queueWidth);
  }
  pen.restore();
}

function drawNodes(pen: Pen, scene: Scene): void {
  const { geometry, palette, picture } = scene;
  picture.nodes.forEach((node, i) => {
    const at = geometry.nodes[i];
    if (!at) return;
    pen.beginPath();
    if (node.kind === "host") pen.arc(at.x, at.y, at.radius, 0, 2 * Math.PI);
    else square(pen, at.x, at.y, at.radius);
    pen.fillStyle = node.kind === "host" ? palette.background : palette.node;
    pen.strokeStyle = palette.node;
    pen.lineWidth = Math.min(2, at.radius / 3);
    pen.fill();
    pen.stroke();
  });
}

function square(pen: Pen, x: number, y: number, radius: number): void {
  pen.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, radius / 4);
}

function clampSize(width: number): number {
  return Math.max(3, Math.min(6, width * 0.75));
}

/** A ring where packets are marked, a cross where they are dropped: shapes differ, not only colours. */
function drawLosses(pen: Pen, scene: Scene, shape: PortShape, port: number): void {
  const moment = scene.moments[port];
  if (!moment || (moment.marks <= 0 && moment.drops <= 0)) return;
  const { palette } = scene;
  const size = clampSize(shape.queueWidth);
  const reach = shape.queueLength + size + 2;
  const x = shape.begin.x + shape.along.x * reach;
  const y = shape.begin.y + shape.along.y * reach;
  pen.lineWidth = 2;
  pen.beginPath();
  if (moment.drops > 0) {
    pen.moveTo(x - size, y - size);
    pen.lineTo(x + size, y + size);
    pen.moveTo(x + size, y - size);
    pen.lineTo(x - size, y + size);
    pen.strokeStyle = palette.drop;
  } else {
    pen.arc(x, y, size * 0.8, 0, 2 * Math.PI);
    pen.strokeStyle = palette.mark;
  }
  pen.stroke();
}
