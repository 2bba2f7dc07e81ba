import { Writable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  terminalJson,
  terminalLine,
  terminalMessage,
} from "../../../src/outbound/terminal-text.ts";

/** Everything that a terminal obeys, and everything that breaks or reverses a line. */
const OBEYED = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/u;

describe("a text on a terminal", () => {
  it("stays on its line and controls nothing", () => {
    const hostile = "GL\u001b[2J\u009b31m\u0085\u007f\r\nproved  signature\u2028\u202e\tend";
    expect(terminalLine(hostile)).toBe("GL�[2J�31m��\\nproved  signature�� end");
    const anything = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(anything, (text) => {
        expect(terminalLine(["a", text])).not.toMatch(OBEYED);
        expect(terminalMessage(text).replaceAll("\n", "")).not.toMatch(OBEYED);
      }),
      { seed: 38, numRuns: 500 },
    );
  });

  it("has the styles of the program, and none of its own", () => {
    const stream = Object.assign(new Writable(), { isTTY: true, getColorDepth: () => 24 });
    const line = ["of ", { styles: ["bold"] as const, text: "GL\u001b[8m" }];
    vi.stubEnv("NO_COLOR", undefined);
    vi.stubEnv("FORCE_COLOR", undefined);
    expect(terminalLine(line, stream)).toBe("of \u001b[1mGL�[8m\u001b[22m");
    vi.unstubAllEnvs();
    expect(terminalLine(line, new Writable())).toBe("of GL�[8m");
  });

  it("as a message of several lines begins each line but the first with spaces", () => {
    expect(terminalMessage("PORT: wrong\nHOST: wrong\r\u001b[1Aproved\n")).toBe(
      "PORT: wrong\n  HOST: wrong\n  �[1Aproved",
    );
  });

  it("as JSON has every control character escaped, and the same value", () => {
    const value = { name: "\u007f\u009b2J\u0080\u2028\u202e\u001b", é: ["\ud800"] };
    const text = terminalJson(value);
    expect(text).toMatch(/^[ -~é]+$/);
    expect(text).toContain("\\u007f\\u009b2J\\u0080\\u2028\\u202e\\u001b");
    expect(JSON.parse(text)).toEqual(value);
  });
});
