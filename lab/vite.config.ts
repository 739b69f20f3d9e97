// How the page is built: one classic script, one style sheet, and the engine inside the script. So the folder works from
// any path and from a file, and the page never has to fetch anything (`connect-src 'none'` from its first byte on).
import { defineConfig } from "vitest/config";
import { classicPage } from "./build/classic-page.ts";
import { embeddedEngine } from "./build/embedded-engine.ts";

export default defineConfig({
  base: "./",
  plugins: [embeddedEngine(), classicPage()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  worker: { format: "iife", plugins: () => [] },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    // The licences of the libraries go with them.
    license: { fileName: "licenses.md" },
    chunkSizeWarningLimit: 5000,
    rolldownOptions: {
      output: { format: "iife", entryFileNames: "lab.js", assetFileNames: "lab[extname]" },
    },
  },
  test: { include: ["src/**/*.test.ts"], reporters: ["default", "./e2e/counts-reporter.ts"] },
});
