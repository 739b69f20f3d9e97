import { expect, it } from "vitest";
import { commandOf, fileName } from "./command";

const scenario = '# a comment\nname = "my run / 2"\n[run]\n';

it("a command has the settings in order, quoted for a shell", () => {
  const settings = { "transport.congestion": "dctcp", "switch.qcn": `{ variant = "V" }`, "run.name": "it's" };
  expect(commandOf(scenario, settings)).toBe(
    `incastle run my-run-2.toml --set 'run.name=it'\\''s' --set 'switch.qcn={ variant = "V" }' --set transport.congestion=dctcp`,
  );
});

it("a scenario without a name has one", () => {
  expect(fileName("[run]\n")).toBe("scenario");
});
