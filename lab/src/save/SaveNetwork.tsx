// The picture of the network as PNG or SVG, at the instant shown, in the light theme: for papers and slides.
import { fileName } from "../link/command";
import { text } from "../state/lab";
import { download, textFile } from "./download";
import { pngOfSvg } from "./png";
import { SaveMenu } from "./SaveMenu";

const FORMATS = ["PNG", "SVG"] as const;

/** `draw` returns the picture as a drawing (SVG). */
export function SaveNetwork({ draw }: { draw: () => string | undefined }) {
  const save = async (format: (typeof FORMATS)[number]): Promise<void> => {
    const svg = draw();
    if (svg === undefined) return;
    const name = `${fileName(text.value)}-network`;
    if (format === "SVG") download(`${name}.svg`, textFile(svg, "image/svg+xml"));
    else download(`${name}.png`, await pngOfSvg(svg));
  };
  return <SaveMenu label="Save the picture of the network" formats={FORMATS} save={save} />;
}
