import fc from "fast-check";
import Papa from "papaparse";
import { describe, expect, it } from "vitest";
import { csvEncoder, csvLine } from "../../../src/tables/csv.ts";
import { tableOf } from "../../../src/tables/table.ts";

const texts = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(..."=+-@\t\r\n\",' ab") }),
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

  it("is parsed by another library into the original cells", () => {
    const read = (line: string) =>
      Papa.parse<string[]>(line, { delimiter: ",", newline: "\r\n" }).data[0];
    const meant = (cell: unknown) => {
      if (typeof cell !== "string") return cell === null ? "" : String(cell);
      return /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
    };
    fc.assert(
      fc.property(fc.array(cells, { minLength: 2 }), (row) => {
        expect(read(csvLine(row))).toEqual(row.map(meant));
      }),
    );
  });

  it("has numbers that parse back to exactly the same value", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(Number(csvLine([number])) + 0).toBe(number + 0);
      }),
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
