import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  figureColumn,
  filledTextColumn,
  optionalColumn,
} from "../../../src/sources/files/columns.ts";
import { readCsv } from "../../../src/sources/files/csv-table.ts";

/** Returns what `figureColumn` parses from a cell within a longer text. */
const read = (cell: string): number | undefined =>
  figureColumn.parse(`1,${cell},2`, 2, 2 + cell.length);

describe("a number in a CSV table", () => {
  it("is parsed to the nearest double, bit for bit", () => {
    const digits = (min: number, max: number) =>
      fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: min, maxLength: max });
    const text = fc
      .tuple(fc.constantFrom("", "-"), digits(1, 12), fc.option(digits(1, 12)))
      .map(([sign, whole, part]) => `${sign}${whole}${part === null ? "" : `.${part}`}`);
    fc.assert(
      fc.property(text, (cell) => {
        expect(read(cell)).toBe(Number(cell));
      }),
      { seed: 19, numRuns: 5_000 },
    );
  });

  it.each(["0", "-0", "0.1", "645.57", "1e5", "-2.5E-7", "123456789012345.6", "0.000000000000001"])(
    "may be written as %s",
    (cell) => {
      expect(read(cell)).toBe(Number(cell));
    },
  );

  it.each(["", "-", ".5", "5.", "1.2.3", "1,5", "+1", "0x10", "1e", " 1", "NaN", "1e19", "٣"])(
    "must not be written as '%s'",
    (cell) => {
      expect(read(cell)).toBeUndefined();
    },
  );
});

describe("a CSV table", () => {
  const columns = { first: figureColumn, second: figureColumn };
  const rows = (content: string) => readCsv({ path: "table.csv", content }, columns, (row) => row);
  const expected = [
    { first: 1, second: 2 },
    { first: 3, second: 4 },
  ];

  it.each([
    ["several lines", "first,second\n1,2\n3,4"],
    ["a line break at its end", "first,second\n1,2\n3,4\n"],
    ["Windows line breaks", "first,second\r\n1,2\r\n3,4\r\n"],
    ["a byte order mark", "\uFEFFfirst,second\n1,2\n3,4\n"],
    ["quoted cells", 'first,"second"\n1,2\n"3","4"\n'],
  ])("may have %s", (_, content) => {
    expect(rows(content)).toEqual(expected);
  });

  it.each(["a,\nb,", 'a,\n"b",', "a,\r\nb,", "a,\nb,\n"])(
    "keeps its last row if the last cell is empty: %j",
    (lines) => {
      const content = `first,second\n${lines}`;
      const texts = { first: filledTextColumn, second: optionalColumn(filledTextColumn) };
      expect(readCsv({ path: "table.csv", content }, texts, (row) => row)).toEqual([
        { first: "a", second: null },
        { first: "b", second: null },
      ]);
    },
  );

  it.each([
    ["", 'table.csv:1: the header is ""'],
    ["first\n1\n", 'table.csv:1: the header is "first"'],
    ["first,second,third\n", 'table.csv:1: the header is "first,second,third"'],
    ["first,second\n1,2\n3\n", "table.csv:3: the line has 1 of 2 columns"],
    ["first,second\n1,2,3\n", "table.csv:2: the line has 3 of 2 columns"],
    ["first,second\n\n1,2\n", "table.csv:2: the line has 1 of 2 columns"],
    ['first,second\n1,2\n"3",x\n', 'table.csv:3: second is "x"'],
  ])("is rejected if its content is %j", (content, message) => {
    expect(() => rows(content)).toThrow(message);
  });
});
