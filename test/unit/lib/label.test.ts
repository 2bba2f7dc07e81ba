import { describe, expect, it } from "vitest";
import { hasActiveContent, hasVisibleCharacter, Label } from "../../../src/lib/label.ts";
import { INVISIBLE_TEXTS } from "../../support/invisible-texts.ts";

const isLabel = (text: unknown) => Label.safeParse(text).success;

describe("a label given by a user", () => {
  it.each([
    ["  Ada   Lovelace ", "Ada Lovelace"],
    ["two\r\nlines\tand a tab", "two lines and a tab"],
    ["line\u2028separator\ufeff", "line separator"],
    ["Ame\u0301lie", "Am\u00e9lie"],
    ["=cmd|'/c calc'!A0", "=cmd|'/c calc'!A0"],
    [
      "\u4e2d\u6587 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
      "\u4e2d\u6587 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    ],
  ])("normalizes %j to %j", (text, label) => {
    expect(Label.parse(text)).toBe(label);
  });

  it.each([
    ["an empty string", ""],
    ["only white space", " \n\t "],
    ["an invisible character between letters", "a\u200bb"],
    ["a soft hyphen", "a\u00adb"],
    ["a right-to-left mark", "a\u200fb"],
    ["a script URL", "javascript:alert(1)"],
    ["only punctuation", "--"],
    ["a NUL character", "a\0b"],
    ["an escape sequence", "a\u001b[2Jb"],
    ["a C1 control character", "a\u0085b"],
    ["half a surrogate pair", "a\ud83db"],
    ["a bidirectional override", "a\u202eb"],
    ["a bidirectional isolate", "a\u2066b"],
    ["101 characters", "a".repeat(101)],
    ["a number", 7],
    ["an array", ["a"]],
    ["null", null],
  ])("is rejected when it is or contains %s", (_what, text) => {
    expect(isLabel(text)).toBe(false);
  });

  it.each(INVISIBLE_TEXTS)("is rejected when it is only %j", (text) => {
    expect(isLabel(text)).toBe(false);
  });

  it.each([
    ["O'Neil & Sons"],
    ["'; DROP TABLE accounts; --"],
    ["JavaScript: The Good Parts"],
    ["Big data: text"],
  ])("keeps %j, which no program executes", (text) => {
    expect(Label.parse(text)).toBe(text);
  });

  it("is limited in characters after normalization, not in UTF-16 code units", () => {
    expect(isLabel(`a${"\u{1f600}".repeat(99)}`)).toBe(true);
    expect(isLabel("e\u0301".repeat(100))).toBe(true);
  });

  it("is unchanged when it is normalized again", () => {
    const once = Label.parse("  Ame\u0301lie \n 7 ");
    expect(Label.parse(once)).toBe(once);
  });
});

describe("active content", () => {
  it.each([
    ["<script>alert(1)</script>"],
    ["</b>"],
    ["<!-- x"],
    ["JavaScript:alert(1)"],
    ["see vbscript:x"],
    ["data:text/html,<x"],
    ["DATA:text/html;base64,PHg+"],
  ])("is found in %j", (text) => expect(hasActiveContent(text)).toBe(true));

  it.each([["A <3 B"], ["z < 2"], ["javascript: a word"], ["myjavascript:x"], ["data:text"]])(
    "is not found in %j",
    (text) => expect(hasActiveContent(text)).toBe(false),
  );
});

describe("a visible character", () => {
  it.each([["a"], ["\u5206"], ["\u{1f600}"], ["!"], ["\u200ba\u200b"], ["7"]])("is in %j", (text) =>
    expect(hasVisibleCharacter(text)).toBe(true),
  );

  it.each(INVISIBLE_TEXTS)("is not in %j", (text) => {
    expect(hasVisibleCharacter(text)).toBe(false);
  });
});
