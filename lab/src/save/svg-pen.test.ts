import { describe, expect, it } from "vitest";
import { SvgPen } from "./svg-pen";

function drawn(draw: (pen: SvgPen) => void): string {
  const pen = new SvgPen();
  draw(pen);
  // Without the ground and the frame.
  return pen.drawing(10, 20, "#ffffff").split("\n").slice(2, -1).join("\n");
}

describe("a drawing that takes the calls of a canvas", () => {
  it("has lines with their dashes", () => {
    const svg = drawn((pen) => {
      pen.strokeStyle = "#ff0000";
      pen.lineWidth = 2;
      pen.setLineDash([3, 17]);
      pen.lineDashOffset = -4;
      pen.moveTo(1, 2);
      pen.lineTo(3.123, 4);
      pen.stroke();
    });
    expect(svg).toBe(
      '<path d="M1 2L3.12 4" fill="none" stroke="#ff0000" stroke-width="2" stroke-linejoin="miter" stroke-dasharray="3 17" stroke-dashoffset="-4"/>',
    );
  });

  it("turns and moves until it is restored", () => {
    const svg = drawn((pen) => {
      pen.save();
      pen.translate(5, 6);
      pen.rotate(Math.PI / 2);
      pen.fillRect(0, -1, 4, 2);
      pen.restore();
      pen.fillRect(0, 0, 1, 1);
    });
    const [turned = "", straight = ""] = svg.split("\n");
    expect(turned).toContain('transform="translate(5 6) rotate(90)"');
    expect(straight).not.toContain("transform");
  });

  it("has circles, and squares with round corners", () => {
    const svg = drawn((pen) => {
      pen.arc(10, 10, 4);
      pen.fill();
      pen.beginPath();
      pen.roundRect(0, 0, 10, 10, 2);
      pen.fill();
    });
    expect(svg).toContain('d="M14 10A4 4 0 0 1 6 10A4 4 0 0 1 14 10Z"');
    expect(svg).toContain('d="M2 0h6a2 2 0 0 1 2 2v6a2 2 0 0 1 -2 2h-6a2 2 0 0 1 -2 -2v-6a2 2 0 0 1 2 -2Z"');
  });

  it("places text by its size, and escapes it", () => {
    const svg = drawn((pen) => {
      pen.font = "20px system-ui, sans-serif";
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      pen.fillText("a->b & c", 5, 10);
    });
    expect(svg).toBe(
      '<text x="5" y="17" text-anchor="end" font-family="system-ui, sans-serif" font-size="20" fill="#000000">a-&gt;b &amp; c</text>',
    );
  });
});
