// Draws the network at one instant: links by their use, queues that fill, marks and drops where they happen.
import type { Palette } from "../page/theme";
import type { Picture } from "../worker/protocol";
import type { Geometry, PortShape } from "./geometry";
import type { PortMoment } from "./moment";

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

export function drawNetwork(context: CanvasRenderingContext2D, scene: Scene): void {
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  drawLinks(context, scene);
  drawFlow(context, scene);
  scene.geometry.ports.forEach((shape, port) => {
    drawQueue(context, scene, shape, port);
  });
  drawNodes(context, scene);
  scene.geometry.ports.forEach((shape, port) => {
    drawLosses(context, scene, shape, port);
    if (scene.moments[port]?.paused) drawPause(context, scene, shape);
  });
}

/** Two bars across the link, as on a recorder. */
function drawPause(context: CanvasRenderingContext2D, { palette }: Scene, shape: PortShape): void {
  const half = Math.max(4, shape.width * 1.6);
  const middle = { x: (shape.begin.x + shape.end.x) / 2, y: (shape.begin.y + shape.end.y) / 2 };
  for (const [width, colour] of [
    [5, palette.background],
    [2.5, palette.pause],
  ] as const) {
    context.beginPath();
    for (const step of [-3, 3]) {
      const at = { x: middle.x + shape.along.x * step, y: middle.y + shape.along.y * step };
      context.moveTo(at.x - shape.along.y * half, at.y + shape.along.x * half);
      context.lineTo(at.x + shape.along.y * half, at.y - shape.along.x * half);
    }
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }
}

/** Lines of one colour and width are one path: a large network has thousands. */
function drawLinks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  const levels = palette.use.length;
  const paths = new Map<string, Stroke>();
  geometry.ports.forEach((shape, port) => {
    const colour = palette.use[levelOf(moments[port]?.use ?? 0, levels)] ?? palette.idleLink;
    addLine(paths, shape, colour);
  });
  strokeAll(context, paths);
}

interface Stroke {
  path: Path2D;
  colour: string;
  width: number;
}

function addLine(paths: Map<string, Stroke>, shape: PortShape, colour: string): void {
  const key = `${colour} ${shape.width}`;
  const stroke = paths.get(key) ?? { path: new Path2D(), colour, width: shape.width };
  paths.set(key, stroke);
  stroke.path.moveTo(shape.begin.x, shape.begin.y);
  stroke.path.lineTo(shape.end.x, shape.end.y);
}

function strokeAll(context: CanvasRenderingContext2D, paths: Map<string, Stroke>): void {
  for (const { path, colour, width } of paths.values()) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(path);
  }
}

/** 0 for an idle link; every other level has an even share. */
function levelOf(use: number, levels: number): number {
  return use <= 0.001 ? 0 : Math.min(levels - 1, 1 + Math.floor(use * (levels - 1)));
}

/** Ports of a network in which moving gaps are still seen; dashes are also the slowest thing to draw. */
const MOST_MOVING = 600;

/** Short gaps run along links that carry something. */
function drawFlow(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  if (moments.length > MOST_MOVING) return;
  const paths = new Map<string, Stroke>();
  geometry.ports.forEach((shape, port) => {
    if ((moments[port]?.use ?? 0) > 0.02) addLine(paths, shape, palette.background);
  });
  context.setLineDash([3, 17]);
  context.lineDashOffset = -scene.phase;
  strokeAll(context, paths);
  context.setLineDash([]);
}

function drawQueue(context: CanvasRenderingContext2D, scene: Scene, shape: PortShape, port: number): void {
  const { palette } = scene;
  const part = Math.min(1, (scene.moments[port]?.queueBytes ?? 0) / scene.fullQueue);
  const outlined = scene.hovered === port || scene.charted.has(port);
  if (part <= 0 && !outlined) return;
  context.save();
  context.translate(shape.begin.x, shape.begin.y);
  context.rotate(Math.atan2(shape.along.y, shape.along.x));
  const half = shape.queueWidth / 2;
  if (part > 0) {
    context.fillStyle = palette.queue;
    context.fillRect(0, -half, Math.max(1.5, part * shape.queueLength), shape.queueWidth);
  }
  if (outlined) {
    context.strokeStyle = palette.text;
    context.lineWidth = scene.hovered === port ? 2 : 1;
    context.strokeRect(0, -half, shape.queueLength, shape.queueWidth);
  }
  context.restore();
}

function drawNodes(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, picture } = scene;
  picture.nodes.forEach((node, i) => {
    const at = geometry.nodes[i];
    if (!at) return;
    context.beginPath();
    if (node.kind === "host") context.arc(at.x, at.y, at.radius, 0, 2 * Math.PI);
    else square(context, at.x, at.y, at.radius);
    context.fillStyle = node.kind === "host" ? palette.background : palette.node;
    context.strokeStyle = palette.node;
    context.lineWidth = Math.min(2, at.radius / 3);
    context.fill();
    context.stroke();
  });
}

function square(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, radius / 4);
}

function clampSize(width: number): number {
  return Math.max(3, Math.min(6, width * 0.75));
}

/** A ring where packets are marked, a cross where they are dropped: shapes differ, not only colours. */
function drawLosses(context: CanvasRenderingContext2D, scene: Scene, shape: PortShape, port: number): void {
  const moment = scene.moments[port];
  if (!moment || (moment.marks <= 0 && moment.drops <= 0)) return;
  const { palette } = scene;
  const size = clampSize(shape.queueWidth);
  const reach = shape.queueLength + size + 2;
  const x = shape.begin.x + shape.along.x * reach;
  const y = shape.begin.y + shape.along.y * reach;
  context.lineWidth = 2;
  context.beginPath();
  if (moment.drops > 0) {
    context.moveTo(x - size, y - size);
    context.lineTo(x + size, y + size);
    context.moveTo(x + size, y - size);
    context.lineTo(x - size, y + size);
    context.strokeStyle = palette.drop;
  } else {
    context.arc(x, y, size * 0.8, 0, 2 * Math.PI);
    context.strokeStyle = palette.mark;
  }
  context.stroke();
}
