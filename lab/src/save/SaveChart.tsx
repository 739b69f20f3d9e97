// A chart as PNG, SVG or CSV.
import { fileName } from "../link/command";
import { text } from "../state/lab";
import { csvOfLines } from "./csv";
import { download, textFile } from "./download";
import { pngOfSvg } from "./png";
import { SaveMenu } from "./SaveMenu";
import { svgOf } from "./svg";
import type { Figure } from "./svg";

const FORMATS = ["PNG", "SVG", "CSV"] as const;

export function SaveChart({ figure }: { figure: Figure }) {
  return (
    <SaveMenu
      label={`Save the chart ${figure.title}`}
      formats={FORMATS}
      save={(format) => save(figure, format)}
    />
  );
}

async function save(figure: Figure, format: (typeof FORMATS)[number]): Promise<void> {
  const name = `${fileName(text.value)}-${figure.title.toLowerCase().replace(/\W+/g, "-")}`;
  if (format === "SVG") download(`${name}.svg`, textFile(svgOf(figure), "image/svg+xml"));
  if (format === "PNG") download(`${name}.png`, await pngOfSvg(svgOf(figure)));
  if (format === "CSV") {
    download(`${name}.csv`, textFile(csvOfLines(figure.set, figure.range ? "time_s" : "fct_s"), "text/csv"));
  }
}
