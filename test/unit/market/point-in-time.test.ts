import { expect, it } from "vitest";
import { createReader } from "../../../src/market/point-in-time.ts";
import type { Known } from "../../../src/market/records.ts";

const known = (availableAt: number): Known => ({ availableAt });

it("a reader returns each record once, even one that was inserted before a record that was not yet known", () => {
  const read = createReader<Known>();
  const list = [known(10)];
  expect(read(list, 5)).toEqual([]);
  list.unshift(known(7));
  expect(read(list, 8)).toEqual([known(7)]);
  list.splice(1, 0, known(9));
  expect(read(list, 9)).toEqual([known(9)]);
  expect(read(list, 9)).toEqual([]);
  expect(read(list, 10)).toEqual([known(10)]);
  list.push(known(12));
  expect(read(list, 11)).toEqual([]);
  expect(read(list, 12)).toEqual([known(12)]);
});
