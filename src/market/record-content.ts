import type { Feed, InstrumentRecords, RecordList } from "./records.ts";

/** Receives the values of records one by one. */
export interface ContentWriter {
  number(value: number): void;
  text(value: string): void;
}

/** The record type of a feed. */
type RecordOf<F extends Feed> =
  NonNullable<InstrumentRecords[F]> extends RecordList<infer R> ? R : never;

/**
 * For each feed, a function that writes the content of a record, for hashing. `logReturn` is omitted,
 * since it follows from the bar before. A missing number is written as NaN, a missing text as "".
 */
export const RECORD_CONTENT_WRITERS: {
  readonly [F in Feed]: (record: RecordOf<F>, to: ContentWriter) => void;
} = {
  bars(bar, to) {
    to.number(bar.availableAt);
    to.number(bar.open);
    to.number(bar.high);
    to.number(bar.low);
    to.number(bar.close);
    to.number(bar.volume);
    to.number(bar.dividend);
    to.number(bar.split);
    to.text(bar.session);
  },
  fundamentals(figure, to) {
    to.number(figure.availableAt);
    to.number(figure.periodEnd);
    to.number(figure.value);
    to.text(figure.metric);
  },
  mentions(mention, to) {
    to.number(mention.availableAt);
    to.number(mention.followers ?? Number.NaN);
    to.number(mention.accountAgeDays ?? Number.NaN);
    to.number(mention.symbolCount);
    to.text(mention.id);
    to.text(mention.text);
    to.text(mention.author ?? "");
    to.text(mention.stance ?? "");
  },
  prints(print, to) {
    to.number(print.availableAt);
    to.number(print.tradedAt);
    to.number(print.price);
    to.number(print.sizeShares);
    to.number(print.bid ?? Number.NaN);
    to.number(print.ask ?? Number.NaN);
    to.number(Number(print.canceled));
    to.number(Number(print.signable));
    to.text(print.id);
    to.text(print.session);
    to.text(print.venue);
    to.text(print.conditions);
  },
  shortVolumes(volume, to) {
    to.number(volume.availableAt);
    to.number(volume.shortShares);
    to.number(volume.totalShares);
    to.text(volume.session);
  },
  weeklyVolumes(volume, to) {
    to.number(volume.availableAt);
    to.number(volume.atsShares);
    to.number(volume.otcShares);
    to.text(volume.weekStart);
  },
  onChain(figures, to) {
    to.number(figures.availableAt);
    to.number(figures.mvrv ?? Number.NaN);
    to.number(figures.nvt ?? Number.NaN);
    to.number(figures.marketCapUsd ?? Number.NaN);
    to.text(figures.session);
  },
};
