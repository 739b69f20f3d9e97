import { expect, it } from "vitest";
import { someOfEachGroup } from "./charted";

it("flows in turn from each group, the oldest first, and none without a window", () => {
  const names = ["bulk:0", "bulk:1", "web:0", "web:1", "web:2", "cbr:0"];
  const ages = [5, 5, 1, 9, undefined, undefined];
  const chosen = someOfEachGroup(names, (flow) => ages[flow], 3);
  // First turn: web:1 (9) and bulk:0 (5, the lower index); second turn: bulk:1 or web:0, of the group that came first.
  expect(chosen.map((flow) => names[flow])).toEqual(["bulk:0", "web:0", "web:1"]);
});
