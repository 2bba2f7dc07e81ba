import fc from "fast-check";
import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { csvEncoder, csvLine, readCell } from "../../../src/tables/csv.ts";
import { tableOf } from "../../../src/tables/table.ts";

const seeded = { seed: 4180, numRuns: 300 };
const texts = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(..."=+-@＝\t\r\n\",;|' ab") }),
);
const cells = fc.oneof(texts, fc.double({ noNaN: true }), fc.boolean(), fc.constant(null));

describe("a line of CSV", () => {
  it("ends with CRLF, and quotes cells as required by RFC 4180", () => {
    expect(csvLine(["a", 'say "b"', "c,d", "e\nf", true, 1.5, null])).toBe(
      'a,"say ""b""","c,d","e\nf",true,1.5,\r\n',
    );
  });

  it("prefixes an apostrophe to text that looks like a formula, but not to numbers", () => {
    expect(csvLine(["=1+1", "+1", "-1", "@a", "\ta", "\ra", "a=b"])).toBe(
      "'=1+1,'+1,'-1,'@a,'\ta,\"'\ra\",a=b\r\n",
    );
    expect(csvLine([-1.5, -0, 1e21])).toBe("-1.5,0,1e+21\r\n");
  });

  it("prefixes an apostrophe wherever another separator than the comma would begin a formula", () => {
    expect(csvLine(["x;=1+1", "x;y", "x\t-1", "x|@a", "a-b;c=d", "2014-06-09"])).toBe(
      "x;'=1+1,x;y,x\t'-1,x|'@a,a-b;c=d,2014-06-09\r\n",
    );
    expect(csvLine(["\t=1", "x\n+1", "; =1", "＝1", '"=1', "'=1"])).toBe(
      `'\t'=1,"x\n'+1",;' =1,'＝1,"'""=1",''=1\r\n`,
    );
    expect(csvLine(['x;"=1"', "[1,-2]"])).toBe(`"x;'""=1""","[1,-2]"\r\n`);
  });

  it.each([",", ";", "\t", "|"])("begins no formula when split at %j", (delimiter) => {
    const isFormula = (cell: string) => /^["\s]*[=+\-@＝＋－＠]/.test(cell);
    fc.assert(
      fc.property(fc.array(texts), (row) => {
        const line = csvLine(row);
        const { data } = Papa.parse<string[]>(line, { delimiter, newline: "\n" });
        expect(data.flat().filter(isFormula)).toEqual([]);
        const pieces = delimiter === "," ? [] : line.split(/[\r\n]/);
        expect(pieces.flatMap((piece) => piece.split(delimiter)).filter(isFormula)).toEqual([]);
      }),
      seeded,
    );
  });

  it("is parsed by another library into the original cells, once the apostrophes are removed", () => {
    const read = (line: string) =>
      Papa.parse<string[]>(line, { delimiter: ",", newline: "\r\n" }).data[0];
    fc.assert(
      fc.property(fc.array(cells, { minLength: 2 }), (row) => {
        const parsed = read(csvLine(row)) ?? [];
        expect(parsed).toHaveLength(row.length);
        parsed.forEach((text, at) => {
          const cell = row[at] as (typeof row)[number];
          const meant = typeof cell === "string" ? cell : cell === null ? "" : String(cell);
          expect(readCell(text, "text") ?? "").toBe(meant);
        });
      }),
      seeded,
    );
  });

  it("has numbers that parse back to exactly the same value", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(Number(csvLine([number])) + 0).toBe(number + 0);
      }),
      seeded,
    );
  });
});

describe("the rows of a table", () => {
  it("are created only as they are read, so that the table is never held in memory", () => {
    let made = 0;
    const double = (record: number) => {
      made += 1;
      return 2 * record;
    };
    const { columns, rows } = tableOf(
      [{ name: "double", type: "number", cell: double }],
      [1, 2, 3],
    );
    expect(csvEncoder(columns).end()).toBe("double\r\n");
    const [first] = rows;
    expect([first, made]).toEqual([[2], 1]);
  });
});
