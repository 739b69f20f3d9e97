// What the picture of a network is drawn with: a canvas, or a drawing (SVG) that takes the same calls.

export type Pen = Pick<
  CanvasRenderingContext2D,
  | "beginPath"
  | "moveTo"
  | "lineTo"
  | "arc"
  | "roundRect"
  | "fill"
  | "stroke"
  | "fillRect"
  | "strokeRect"
  | "fillText"
  | "strokeText"
  | "save"
  | "restore"
  | "translate"
  | "rotate"
  | "setLineDash"
  | "lineDashOffset"
  | "lineWidth"
  | "lineJoin"
  | "strokeStyle"
  | "fillStyle"
  | "font"
  | "textAlign"
  | "textBaseline"
>;
