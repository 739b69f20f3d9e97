// A drawing (SVG) that takes the calls of a canvas, as far as the picture of a network needs them: lines, whole circles,
// rectangles, and text in one size.
import type { Pen } from "../network/pen";

/** Where letters stand above and below their baseline, in parts of the font's size: not all programs read `dominant-baseline`. */
const MIDDLE = 0.35;
const TOP = 0.8;

const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };

export class SvgPen implements Pen {
  strokeStyle: Pen["strokeStyle"] = "#000000";
  fillStyle: Pen["fillStyle"] = "#000000";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  lineDashOffset = 0;
  font = "12px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";

  private readonly elements: string[] = [];
  private path: string[] = [];
  private dashes: readonly number[] = [];
  private transforms: string[] = [];
  private readonly saved: string[][] = [];

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${round(x)} ${round(y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${round(x)} ${round(y)}`);
  }

  /** A whole circle. */
  arc(x: number, y: number, radius: number): void {
    const half = (to: number): string => `A${round(radius)} ${round(radius)} 0 0 1 ${round(to)} ${round(y)}`;
    this.path.push(`M${round(x + radius)} ${round(y)}`, half(x - radius), half(x + radius), "Z");
  }

  roundRect(x: number, y: number, width: number, height: number, radius: number): void {
    const [w, h, r] = [round(width - 2 * radius), round(height - 2 * radius), round(radius)];
    const turn = (dx: number, dy: number): string => `a${r} ${r} 0 0 1 ${dx} ${dy}`;
    this.path.push(`M${round(x + radius)} ${round(y)}`, `h${w}`, turn(r, r), `v${h}`, turn(-r, r));
    this.path.push(`h${-w}`, turn(-r, -r), `v${-h}`, turn(r, -r), "Z");
  }

  fill(): void {
    this.add("path", `d="${this.path.join("")}" fill="${colour(this.fillStyle)}"`);
  }

  stroke(): void {
    this.add("path", `d="${this.path.join("")}" fill="none" ${this.line()}`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.add("rect", `${box(x, y, width, height)} fill="${colour(this.fillStyle)}"`);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add("rect", `${box(x, y, width, height)} fill="none" ${this.line()}`);
  }

  fillText(text: string, x: number, y: number): void {
    this.write(text, x, y, `fill="${colour(this.fillStyle)}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.write(text, x, y, `fill="none" ${this.line()}`);
  }

  save(): void {
    this.saved.push([...this.transforms]);
  }

  restore(): void {
    this.transforms = this.saved.pop() ?? [];
  }

  translate(x: number, y: number): void {
    this.transforms.push(`translate(${round(x)} ${round(y)})`);
  }

  rotate(angle: number): void {
    this.transforms.push(`rotate(${round((angle * 180) / Math.PI)})`);
  }

  setLineDash(dashes: readonly number[]): void {
    this.dashes = dashes;
  }

  /** The drawing, on a ground of one colour. */
  drawing(width: number, height: number, ground: string): string {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
      `<rect width="${width}" height="${height}" fill="${ground}"/>`,
      ...this.elements,
      "</svg>",
    ].join("\n");
  }

  private add(name: string, attributes: string, content = ""): void {
    const transform = this.transforms.length > 0 ? ` transform="${this.transforms.join(" ")}"` : "";
    this.elements.push(
      `<${name} ${attributes}${transform}${content === "" ? "/>" : `>${content}</${name}>`}`,
    );
  }

  private line(): string {
    const dashes = this.dashes.length > 0 ? ` stroke-dasharray="${this.dashes.join(" ")}"` : "";
    const offset = this.dashes.length > 0 ? ` stroke-dashoffset="${round(this.lineDashOffset)}"` : "";
    const look = `stroke="${colour(this.strokeStyle)}" stroke-width="${round(this.lineWidth)}"`;
    return `${look} stroke-linejoin="${this.lineJoin}"${dashes}${offset}`;
  }

  private write(text: string, x: number, y: number, look: string): void {
    const size = Number.parseFloat(this.font);
    const family = this.font.slice(this.font.indexOf(" ") + 1);
    const below = { middle: MIDDLE, top: TOP }[this.textBaseline as string] ?? 0;
    const place = `x="${round(x)}" y="${round(y + below * size)}" text-anchor="${ANCHORS[this.textAlign] ?? "start"}"`;
    this.add("text", `${place} font-family="${family}" font-size="${size}" ${look}`, escaped(text));
  }
}

/** Pictures have plain colours: no gradients. */
function colour(style: Pen["fillStyle"]): string {
  return typeof style === "string" ? style : "none";
}

function box(x: number, y: number, width: number, height: number): string {
  return `x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"`;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
