import { expect, it } from "vitest";
import { inStack } from "./origin";

const CODE = "blob:http://127.0.0.1:8000/0a1b-2c3d";

it.each([
  [
    "Chromium",
    `TypeError: no\n    at helper (${CODE}:12:5)\n    at Mine.on_ack (${CODE}:4:9)\n    at x (blob:w:1:2)`,
  ],
  [
    "Firefox and Safari",
    `bridge@blob:http://127.0.0.1:8000/ffff:1:2\nhelper@${CODE}:12:5\non_ack@${CODE}:4:9\n`,
  ],
])("the innermost call from the code, as %s writes it", (_, stack) => {
  expect(inStack(stack, CODE)).toEqual({ line: 12, column: 5 });
});

it("an exception from elsewhere, or without a stack, has no place in the code", () => {
  expect(inStack("Error: no\n    at bridge (blob:http://127.0.0.1:8000/ffff:1:2)", CODE)).toBeUndefined();
  expect(inStack(undefined, CODE)).toBeUndefined();
});
