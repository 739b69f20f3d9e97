// A chart as PNG, SVG or CSV.
import { fileName } from "../link/command";
import { notice, text } from "../state/lab";
import { csvOfLines } from "./csv";
import { download, textFile } from "./download";
import { pngOfSvg } from "./png";
import { svgOf } from "./svg";
import type { Figure } from "./svg";

const FORMATS = ["PNG", "SVG", "CSV"] as const;

export function SaveChart({ figure }: { figure: Figure }) {
  return (
    <select
      class="save"
      aria-label={`Save the chart ${figure.title}`}
      value=""
      onChange={(event) => {
        const format = event.currentTarget.value;
        event.currentTarget.value = "";
        save(figure, format).catch(
          (error: unknown) => (notice.value = `The chart was not saved: ${String(error)}`),
        );
      }}
    >
      <option value="">Save…</option>
      {FORMATS.map((format) => (
        <option key={format}>{format}</option>
      ))}
    </select>
  );
}

async function save(figure: Figure, format: string): Promise<void> {
  const name = `${fileName(text.value)}-${figure.title.toLowerCase().replaceAll(" ", "-")}`;
  if (format === "SVG") download(`${name}.svg`, textFile(svgOf(figure), "image/svg+xml"));
  if (format === "PNG") download(`${name}.png`, await pngOfSvg(svgOf(figure)));
  if (format === "CSV") {
    download(`${name}.csv`, textFile(csvOfLines(figure.set, figure.range ? "time_s" : "fct_s"), "text/csv"));
  }
}
