// The last step of the build: the page loads its script as a classic one, because browsers refuse modules from `file:`,
// and has its content security policy. A development server needs modules and a socket, so both are left out there.
import type { Plugin } from "vite";

/** Nothing is fetched, nothing from outside is run, no text becomes code; workers are made from blobs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval' blob:",
  "worker-src blob: 'self'",
  "style-src 'self'",
  // Chromium writes style attributes while somebody types over a selection in the editor. They load and run nothing.
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

export function classicPage(): Plugin {
  return {
    name: "lab-classic-page",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(html) {
        return html
          .replace(/<script type="module"[^>]* src="([^"]+)"><\/script>/, '<script defer src="$1"></script>')
          .replace(/<link rel="stylesheet" crossorigin /, '<link rel="stylesheet" ')
          .replace(
            '<meta charset="utf-8" />',
            `<meta charset="utf-8" />\n    <meta http-equiv="Content-Security-Policy" content="${POLICY}" />`,
          );
      },
    },
  };
}
