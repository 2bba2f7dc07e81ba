import { FACTORS } from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnown } from "../market/point-in-time.ts";
import type { InstrumentRecords } from "../market/records.ts";
import type { Snapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";
import { isoInstantOrNull } from "./common.ts";
import { nextReportAnswer } from "./next-report.ts";
import { factorStatusAnswer } from "./why.ts";

/** An instrument with what is known of it. */
export interface InstrumentRow {
  readonly instrument: Instrument;
  /** `undefined` before the first price. */
  readonly snapshot: Snapshot | undefined;
  readonly market: MarketView;
}

const of = (
  name: string,
  type: ColumnType,
  cell: (row: InstrumentRow) => Cell,
  about?: string,
): Column<InstrumentRow> => ({ name, type, cell, ...(about !== undefined && { about }) });

/** Columns of the list of instruments. */
export const instrumentColumns: readonly Column<InstrumentRow>[] = [
  of("symbol", "text", ({ instrument }) => instrument.symbol),
  of("name", "text", ({ instrument }) => instrument.name),
  of("assetClass", "text", ({ instrument }) => instrument.assetClass),
  of("exchange", "text", ({ instrument }) => instrument.exchange),
  of("currency", "text", ({ instrument }) => instrument.currency),
  of("sector", "text", ({ instrument }) => instrument.sector),
  of("status", "text", ({ snapshot }) => snapshot?.status ?? "insufficient_data"),
  ...FACTORS.map((factor) =>
    of(
      `${factor}Status`,
      "text",
      ({ snapshot }) => factorStatusAnswer(snapshot?.factors[factor].status ?? "not_observed"),
      "As status of a factor in get_factors.",
    ),
  ),
  of("firstDataAt", "instant", (row) => dataSpan(row).firstDataAt),
  of("lastDataAt", "instant", (row) => dataSpan(row).lastDataAt),
  of(
    "nextReport",
    "text",
    ({ instrument, snapshot, market }) =>
      snapshot === undefined
        ? null
        : (nextReportAnswer(instrument, market.knownUntil(), market).nextReport?.expected ?? null),
    "When the next quarterly report is expected; empty: not known, or none is filed.",
  ),
  of("market", "text", ({ market }) => market.mode),
];

function dataSpan({ instrument, snapshot, market }: InstrumentRow) {
  if (snapshot === undefined) return { firstDataAt: null, lastDataAt: null };
  return knownSpan(market.records(instrument.symbol), market.knownUntil());
}

/** When the first and the last known bar became known. */
export function knownSpan({ bars }: Pick<InstrumentRecords, "bars">, at: number) {
  const known = countKnown(bars, at);
  return {
    firstDataAt: isoInstantOrNull(bars.at(0)?.availableAt ?? null),
    lastDataAt: isoInstantOrNull(known === 0 ? null : (bars.at(known - 1)?.availableAt ?? null)),
  };
}
