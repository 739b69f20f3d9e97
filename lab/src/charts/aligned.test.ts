import { expect, it } from "vitest";
import { heldAt } from "./aligned";

it("holds a value until the next sample, also over a long pause", () => {
  const x = [10, 20, 200, 210];
  expect(heldAt(x, 20, 4)).toBe(1);
  expect(heldAt(x, 120, 4)).toBe(1);
  expect(heldAt(x, 199, 4)).toBe(1);
  expect(heldAt(x, 200, 4)).toBe(2);
});

it("has none where the lines have not begun or have ended", () => {
  const x = [10, 20, 200, 210];
  expect(heldAt(x, 5, 4)).toBeNull();
  expect(heldAt(x, 7, 4)).toBe(0);
  expect(heldAt(x, 213, 4)).toBe(3);
  expect(heldAt(x, 215, 4)).toBeNull();
  expect(heldAt([], 0, 4)).toBeNull();
});
