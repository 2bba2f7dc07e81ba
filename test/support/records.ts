import type { InstrumentRecords, RecordList } from "../../src/market/records.ts";

/** The same type, with record lists replaced by arrays. */
type WithArrays<T> = {
  readonly [Name in keyof T]: NonNullable<T[Name]> extends RecordList<infer R>
    ? readonly R[] | Extract<T[Name], undefined>
    : T[Name];
};

/** Copies the current records of an instrument into arrays. */
export const arraysOf = (records: InstrumentRecords): WithArrays<InstrumentRecords> =>
  Object.fromEntries(
    Object.entries(records).map(([name, list]) => [
      name,
      name === "instrument" ? list : Array.from(list as Iterable<unknown>),
    ]),
  ) as unknown as WithArrays<InstrumentRecords>;
