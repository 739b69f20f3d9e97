// Tests in a browser. One file after the other: they share two cores with the engine's workers.
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { missing } from "./page.ts";

const reason = missing();
if (reason) console.log(`browser tests are skipped: ${reason}`);

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  test: {
    include: ["*.test.ts"],
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 60_000,
    // A browser that shares two cores may be late once; the report names what passed at the second try only.
    retry: 1,
    reporters: ["default", "./counts-reporter.ts"],
  },
});
