import { expect, it } from "vitest";
import { createRecordReader } from "../../../src/market/point-in-time.ts";
import type { PointInTimeRecord } from "../../../src/market/records.ts";

const known = (availableAt: number): PointInTimeRecord => ({ availableAt });

it("a reader returns each record once, even if it is inserted ahead of a record that is not yet known", () => {
  const read = createRecordReader<PointInTimeRecord>();
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
