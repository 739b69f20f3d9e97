import { expect, it } from "vitest";
import { keysAt, valuesAt } from "./schema";
import type { JsonSchema } from "./schema";

const schema: JsonSchema = {
  properties: {
    transport: {
      properties: {
        congestion: {
          anyOf: [{ enum: ["dctcp", "cubic"] }, { type: "string" }],
          description: "The control.",
        },
        handshake: { type: "boolean" },
      },
    },
    flows: { additionalProperties: { properties: { workload: { enum: ["bulk"] } } } },
  },
};

it("keys of a table, and whether they are tables", () => {
  expect(keysAt(schema, []).map(({ name, table }) => [name, table])).toEqual([
    ["transport", true],
    ["flows", true],
  ]);
  expect(keysAt(schema, ["transport"])[0]).toEqual({
    name: "congestion",
    description: "The control.",
    table: false,
  });
});

it("labels have the keys of any label", () => {
  expect(keysAt(schema, ["flows", "mine"]).map(({ name }) => name)).toEqual(["workload"]);
});

it("values of a key", () => {
  expect(valuesAt(schema, ["transport", "congestion"])).toEqual(['"dctcp"', '"cubic"']);
  expect(valuesAt(schema, ["transport", "handshake"])).toEqual(["true", "false"]);
  expect(valuesAt(schema, ["nothing", "there"])).toEqual([]);
});
