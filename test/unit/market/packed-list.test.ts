import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPackedList, type RecordPacking } from "../../../src/market/packed-list.ts";

interface Pair {
  readonly name: string;
  readonly value: number;
}

const NAMES = ["one", "two", "three"];

const packing: RecordPacking<Pair, Pair> = {
  bytes: 9,
  write(view, at, { name, value }) {
    view.setUint8(at, NAMES.indexOf(name));
    view.setFloat64(at + 1, value);
  },
  read: (view, at) => ({
    name: NAMES[view.getUint8(at)] as string,
    value: view.getFloat64(at + 1),
  }),
};

const pair = fc.record({ name: fc.constantFrom(...NAMES), value: fc.double() });
const position = fc.integer({ min: -600, max: 600 });

describe("a packed list", () => {
  it("reads like an array, however it was filled", () => {
    const grown = fc.array(fc.array(pair, { maxLength: 150 }), { maxLength: 4 });
    fc.assert(
      fc.property(grown, position, position, (parts, one, other) => {
        const list = createPackedList(packing);
        for (const part of parts) list.push(...part);
        const array = parts.flat();
        expect(list.length).toBe(array.length);
        expect([...list]).toEqual(array);
        expect(list.at(one)).toEqual(array.at(one));
        expect(list.slice(one, other)).toEqual(array.slice(one, other));
        expect(list.slice(one)).toEqual(array.slice(one));
      }),
      { seed: 17, numRuns: 200 },
    );
  });

  it("returns a new record on every read, so that changes do not affect the list", () => {
    const list = createPackedList(packing);
    list.push({ name: "one", value: 1 });
    (list.at(0) as { value: number }).value = 2;
    expect(list.at(0)).toEqual({ name: "one", value: 1 });
  });
});
