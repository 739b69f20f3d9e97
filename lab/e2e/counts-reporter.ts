// The last lines of a test run: which tests failed at first, and how many passed, failed and were skipped.
import type { Reporter, TestModule } from "vitest/node";

export default class Counts implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        counts[test.result().state] += 1;
        if (test.diagnostic()?.flaky) {
          console.log(`passed at the second try: ${module.relativeModuleId}: ${test.fullName}`);
          for (const { message } of test.result().errors ?? []) console.log(`  at first: ${message}`);
        }
      }
    }
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  }
}
