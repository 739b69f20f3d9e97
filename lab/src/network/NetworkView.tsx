// The picture of a run's network: a canvas that follows the time, its legend, and numbers under the pointer.
import { effect, signal, useComputed, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { followSize } from "../page/resize";
import { PALETTES, palette } from "../page/theme";
import type { Palette } from "../page/theme";
import { formatBytes, formatTime } from "../page/units";
import { recordingOf } from "../page/useSide";
import { chartedIndices, toggleCharted } from "../charts/charted";
import type { Recording } from "../runs/recording";
import { sides, time_s } from "../state/lab";
import type { SideName } from "../state/lab";
import { SaveNetwork } from "../save/SaveNetwork";
import { SvgPen } from "../save/svg-pen";
import { drawNetwork } from "./draw";
import type { Scene } from "./draw";
import type { Geometry, Point } from "./geometry";
import { geometry, nodeAt, portAt } from "./geometry";
import { drawLabels } from "./labels";
import { layout } from "./layout";
import type { Layout } from "./layout";
import { Legend } from "./Legend";
import { portMoment } from "./moment";
import { NetworkWords } from "./NetworkWords";
import { Tip } from "./Tip";

export type Pointed = { kind: "port" | "node"; index: number; at: Point } | undefined;

export function NetworkView({ side }: { side: SideName }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pointed = useSignal<Pointed>(undefined);
  const size = useSignal({ width: 0, height: 0 });
  const drawing = useComputed(() => drawingOf(sides[side].recording.value, size.value));
  const names = useComputed(() => namesOf(drawing.value, size.value, palette()));
  useEffect(() => keepSharp(canvas.current, size), [size]);
  useEffect(
    () =>
      effect(() => {
        paint(canvas.current, side, drawing.value, names.value, pointed.value);
      }),
    [side, drawing, names, pointed],
  );
  const point = (event: PointerEvent) => {
    pointed.value = drawing.value && under(drawing.value, { x: event.offsetX, y: event.offsetY });
  };
  return (
    <figure class="network">
      <div class="canvas-box">
        <canvas
          ref={canvas}
          role="img"
          aria-label="The network; the table “In words” below has the same numbers"
          onPointerMove={point}
          onPointerLeave={() => (pointed.value = undefined)}
          onClick={() => {
            const name = pointed.value?.kind === "port" && portName(side, pointed.value.index);
            if (name) toggleCharted(side, name);
          }}
        />
        <Tip side={side} pointed={pointed.value} width={size.value.width} />
      </div>
      <figcaption>
        <Legend fullQueue={fullQueue.value} pauses={recordingOf(side)?.counts.hasPauses() ?? false} />
        <div class="below">
          <NetworkWords side={side} />
          <SaveNetwork draw={() => drawn(side, drawing.value, size.value)} />
        </div>
      </figcaption>
    </figure>
  );
}

function portName(side: SideName, port: number): string | undefined {
  return sides[side].recording.peek()?.picture.ports[port]?.name;
}

interface Drawing {
  recording: Recording;
  layout: Layout;
  geometry: Geometry;
}

function drawingOf(
  recording: Recording | undefined,
  size: { width: number; height: number },
): Drawing | undefined {
  if (!recording || size.width === 0) return undefined;
  const placed = layout(recording.picture);
  return {
    recording,
    layout: placed,
    geometry: geometry(recording.picture, placed, size.width, size.height),
  };
}

/** Keeps the canvas as sharp as the screen, at any size. */
function keepSharp(canvas: HTMLCanvasElement | null, size: Signal<{ width: number; height: number }>) {
  if (!canvas) return;
  return followSize(canvas, () => {
    const { clientWidth: width, clientHeight: height } = canvas;
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    size.value = { width, height };
  });
}

/** One pixel of dashes for this part of the run, so that they move at any speed of playing. */
const DASHES = 4000;

function sceneOf(side: SideName, drawing: Drawing, pointed: Pointed, colours: Palette): Scene {
  const { recording } = drawing;
  const time = Math.min(time_s.value, recording.reached_s);
  return {
    picture: recording.picture,
    geometry: drawing.geometry,
    palette: colours,
    moments: recording.picture.ports.map((_, port) => portMoment(recording, port, time)),
    fullQueue: Math.max(1, fullQueue.value),
    phase: (time / recording.picture.duration_s) * DASHES,
    charted: new Set(chartedIndices(side)),
    hovered: pointed?.kind === "port" ? pointed.index : undefined,
  };
}

/** The names of the nodes, which stand still: text with a rim is slow to draw, a copy of it is not. */
function namesOf(
  drawing: Drawing | undefined,
  { width, height }: { width: number; height: number },
  colours: Palette,
): HTMLCanvasElement | undefined {
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  const context = canvas.getContext("2d");
  if (!context || !drawing) return undefined;
  context.scale(devicePixelRatio, devicePixelRatio);
  const { recording, geometry, layout } = drawing;
  drawLabels(context, { picture: recording.picture, geometry, palette: colours }, layout);
  return canvas;
}

function paint(
  canvas: HTMLCanvasElement | null,
  side: SideName,
  drawing: Drawing | undefined,
  names: HTMLCanvasElement | undefined,
  pointed: Pointed,
): void {
  const context = canvas?.getContext("2d");
  if (!context || !drawing || !names) return;
  void sides[side].revision.value;
  const scene = sceneOf(side, drawing, pointed, palette());
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, context.canvas.width, context.canvas.height);
  drawNetwork(context, scene);
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(names, 0, 0);
}

/** Room for the line below the picture. */
const CAPTION = 24;

/** The picture as a drawing (SVG), with the instant and the meaning of a full bar. */
function drawn(
  side: SideName,
  drawing: Drawing | undefined,
  { width, height }: { width: number; height: number },
): string | undefined {
  if (!drawing) return undefined;
  const pen = new SvgPen();
  const scene = sceneOf(side, drawing, undefined, PALETTES.light);
  drawNetwork(pen, scene);
  drawLabels(pen, scene, drawing.layout);
  pen.textAlign = "left";
  pen.textBaseline = "alphabetic";
  const { name } = drawing.recording.picture;
  const words = `${name} at ${formatTime(time_s.value)}; a full bar is a queue of ${formatBytes(scene.fullQueue)}`;
  pen.fillText(words, 12, height + CAPTION / 2);
  return pen.drawing(width, height + CAPTION, PALETTES.light.background);
}

/** The queue that fills a bar: the greatest one of the runs on the page, so that they compare. */
const fullQueue = signal(0);

export function scaleQueues(): () => void {
  return effect(() => {
    const greatest = [recordingOf("a"), recordingOf("b")].map((recording) => recording?.greatestQueue() ?? 0);
    fullQueue.value = Math.max(...greatest);
  });
}

function under(drawing: Drawing, at: Point): Pointed {
  const node = nodeAt(drawing.geometry, at);
  if (node !== undefined) return { kind: "node", index: node, at };
  const port = portAt(drawing.geometry, at);
  return port === undefined ? undefined : { kind: "port", index: port, at };
}
