import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { neutralizeText } from "../../../src/outbound/neutral-text.ts";

describe("untrusted text after neutralization", () => {
  it.each([
    ["plain, ümlaut, 🐂 and 日本", "plain, ümlaut, 🐂 and 日本"],
    ["tab\tand\nline", "tab\tand\nline"],
    ["three\r\nkinds\rof\nend", "three\nkinds\nof\nend"],
    ["nul \0", "nul \ufffd"],
    ["\u001b]0;title\u0007\u001b[2J", "\ufffd]0;title\ufffd\ufffd[2J"],
    ["c1 \u009b31m\u0085\u007f", "c1 \ufffd31m\ufffd\ufffd"],
    ["\u202egnp.exe\u202c\u2066\u200f\u061c", "\ufffdgnp.exe\ufffd\ufffd\ufffd\ufffd"],
    ["lines\u2028and\u2029paragraphs", "lines\ufffdand\ufffdparagraphs"],
    ["half \ud800 pair", "half \ufffd pair"],
  ])("has control characters replaced and is otherwise unchanged: %j", (text, expected) => {
    expect(neutralizeText(text)).toBe(expected);
  });

  it("does not change when it is neutralized again", () => {
    const anything = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(anything, (text) => {
        const neutral = neutralizeText(text);
        expect(neutral).toMatch(/^[\P{Cc}\t\n]*$/u);
        expect(neutral.isWellFormed()).toBe(true);
        expect(neutralizeText(neutral)).toBe(neutral);
      }),
      { seed: 6, numRuns: 200 },
    );
  });
});
