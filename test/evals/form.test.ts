import { describe, expect, it } from "vitest";
import {
  type AnswerFormat,
  choice,
  count,
  day,
  instant,
  list,
  number,
  numbers,
  set,
  symbol,
} from "./form.ts";

const orUnknown = number(2, { orUnknown: true });

/** Name of the format, the format, the right value, accepted texts, and rejected texts. */
const cases: readonly (readonly [
  name: string,
  AnswerFormat,
  expected: never,
  right: string[],
  wrong: string[],
])[] = [
  [
    "symbol",
    symbol,
    "ALDER.SIM",
    ["ALDER.SIM", "`alder.sim`", '"ALDER.SIM".'],
    ["ALDER", "It is ALDER.SIM"],
  ],
  ["choice", choice("YES", "NO"), "YES", ["yes", "**YES**", "Yes."], ["NO", "YES and NO"]],
  ["day", day, "2026-11-18", ["2026-11-18"], ["2026-11-19", "18 November 2026"]],
  [
    "instant",
    instant,
    "2026-11-22T00:00:00.000Z",
    ["2026-11-22T00:00:00Z", "2026-11-22T01:00:00+01:00"],
    ["2026-11-22T00:01:00Z", "now"],
  ],
  ["count", count, 8, ["8", "8.0"], ["9", "7.9", "eight", "8 of 46"]],
  ["number", number(2), -1.254, ["-1.25", "−1.25", "-1.26"], ["1.25", "-1.28", "-1.25 %"]],
  ["number or nothing", orUnknown, "UNKNOWN", ["UNKNOWN", "unknown."], ["0", "1.25"]],
  [
    "list",
    list("them"),
    ["A", "B"],
    ['["A","B"]', '```json\n["a", "b"]\n```'],
    ['["B","A"]', "A, B", '["A"]'],
  ],
  ["set", set("them"), ["A", "B"], ['["B","A"]'], ['["A"]', '["A","B","C"]', "[]"]],
  ["empty set", set("them"), [], ["[]"], ["", "none", '["A"]']],
  [
    "numbers",
    numbers("them", 1),
    [1, 2.5],
    ["[1.0, 2.5]", "[1.1, 2.4]"],
    ["[2.5, 1]", "[1]", "1, 2.5"],
  ],
].map((row) => row as never);

describe("an answer format", () => {
  it.each(cases)(
    "of the kind %j accepts every correct spelling of the value, and nothing else",
    (_name, form, expected, right, wrong) => {
      for (const text of right) expect([text, form.fits(text, expected)]).toEqual([text, true]);
      for (const text of wrong) expect([text, form.fits(text, expected)]).toEqual([text, false]);
      expect(form.fits(form.write(expected), expected)).toBe(true);
      expect(form.fits(form.write(form.spoil(expected)), expected)).toBe(false);
    },
  );
});
