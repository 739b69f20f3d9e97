import { describe, expect, it } from "vitest";
import { LINES_BEFORE, classNames, hide, script } from "./source";

const TWO = `// class Commented extends Controller
class One extends Controller { on_ack() { /* class Inner extends Controller {} */ } }
class $Two
  extends Controller {}
class Other extends Array {}`;

describe("the code of controllers", () => {
  it("has the classes that derive from Controller", () => {
    expect(classNames(TWO)).toEqual(["One", "$Two"]);
    expect(classNames("")).toEqual([]);
  });

  it("keeps its lines in the script", () => {
    const lines = script("first();\nsecond();").split("\n");
    expect(lines.slice(LINES_BEFORE, LINES_BEFORE + 2)).toEqual(["first();", "second();"]);
  });
});

describe("a global scope without ways out", () => {
  class Base {
    fetch(): string {
      return "sent";
    }
  }
  class Scope extends Base {
    postMessage = (): string => "said";
  }

  it("lacks them, those of its prototypes too, for good", () => {
    const scope: Record<string, unknown> = new Scope() as never;
    hide(scope);
    expect(scope.postMessage).toBeUndefined();
    expect(scope.fetch).toBeUndefined();
    expect(() => {
      scope.fetch = () => "again";
    }).toThrow(TypeError);
    expect("fetch" in Base.prototype).toBe(false);
  });
});
