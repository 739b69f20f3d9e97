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
  });
}

/** Lines of one colour are one path: a large network has thousands. */
function drawLinks(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  const levels = palette.use.length;
  context.lineCap = "butt";
  palette.use.forEach((colour, level) => {
    context.beginPath();
    geometry.ports.forEach((shape, port) => {
      if (levelOf(moments[port]?.use ?? 0, levels) === level) line(context, shape);
    });
    context.strokeStyle = colour;
    context.lineWidth = geometry.line;
    context.stroke();
  });
}

/** 0 for an idle link; every other level has an even share. */
function levelOf(use: number, levels: number): number {
  return use <= 0.001 ? 0 : Math.min(levels - 1, 1 + Math.floor(use * (levels - 1)));
}

/** Short gaps run along links that carry something. */
function drawFlow(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, moments } = scene;
  context.setLineDash([3, 17]);
  context.lineDashOffset = -scene.phase;
  context.beginPath();
  geometry.ports.forEach((shape, port) => {
    if ((moments[port]?.use ?? 0) > 0.02) line(context, shape);
  });
  context.strokeStyle = palette.background;
  context.lineWidth = geometry.line;
  context.stroke();
  context.setLineDash([]);
}

function line(context: CanvasRenderingContext2D, shape: PortShape): void {
  context.moveTo(shape.begin.x, shape.begin.y);
  context.lineTo(shape.end.x, shape.end.y);
}

function drawQueue(context: CanvasRenderingContext2D, scene: Scene, shape: PortShape, port: number): void {
  const { geometry, palette } = scene;
  const part = Math.min(1, (scene.moments[port]?.queueBytes ?? 0) / scene.fullQueue);
  const outlined = scene.hovered === port || scene.charted.has(port);
  if (part <= 0 && !outlined) return;
  context.save();
  context.translate(shape.begin.x, shape.begin.y);
  context.rotate(Math.atan2(shape.along.y, shape.along.x));
  const half = geometry.bar / 2;
  if (part > 0) {
    context.fillStyle = palette.queue;
    context.fillRect(0, -half, Math.max(1.5, part * shape.queueLength), geometry.bar);
  }
  if (outlined) {
    context.strokeStyle = palette.text;
    context.lineWidth = scene.hovered === port ? 2 : 1;
    context.strokeRect(0, -half, shape.queueLength, geometry.bar);
  }
  context.restore();
}

function drawNodes(context: CanvasRenderingContext2D, scene: Scene): void {
  const { geometry, palette, picture } = scene;
  picture.nodes.forEach((node, i) => {
    const at = geometry.nodes[i];
    if (!at) return;
    context.beginPath();
    if (node.kind === "host") context.arc(at.x, at.y, geometry.radius, 0, 2 * Math.PI);
    else square(context, at.x, at.y, geometry.radius);
    context.fillStyle = node.kind === "host" ? palette.background : palette.node;
    context.strokeStyle = palette.node;
    context.lineWidth = Math.min(2, geometry.radius / 3);
    context.fill();
    context.stroke();
  });
}

function square(context: CanvasRenderingContext2D, x: number, y: number, radius: number): void {
  context.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, radius / 4);
}

/** A ring where packets are marked, a cross where they are dropped: shapes differ, not only colours. */
function drawLosses(context: CanvasRenderingContext2D, scene: Scene, shape: PortShape, port: number): void {
  const moment = scene.moments[port];
  if (!moment || (moment.marks <= 0 && moment.drops <= 0)) return;
  const { palette, geometry } = scene;
  const size = Math.max(3, geometry.bar * 0.75);
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
