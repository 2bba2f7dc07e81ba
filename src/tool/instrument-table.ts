import { isoInstantOrNull } from "../answers/common.ts";
import { nextReportAnswer } from "../answers/next-report.ts";
import { factorStatusAnswer } from "../answers/why.ts";
import { FACTORS } from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type { InstrumentRecords } from "../market/records.ts";
import type { Match } from "../market/symbols.ts";
import type { Snapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";

/** An instrument with its newest snapshot. */
export interface InstrumentRow {
  readonly instrument: Instrument;
  /** The newest snapshot; `undefined` before the first price. */
  readonly snapshot: Snapshot | undefined;
  readonly market: MarketView;
  /** How the instrument matches the query; `undefined` without a query. */
  readonly match: Match | undefined;
}

const instrumentColumn = (
  name: string,
  type: ColumnType,
  cell: (row: InstrumentRow) => Cell,
  about?: string,
): Column<InstrumentRow> => ({ name, type, cell, ...(about !== undefined && { about }) });

/** Columns of the table of instruments. */
export const instrumentColumns: readonly Column<InstrumentRow>[] = [
  instrumentColumn("symbol", "text", ({ instrument }) => instrument.symbol),
  instrumentColumn("name", "text", ({ instrument }) => instrument.name),
  instrumentColumn("assetClass", "text", ({ instrument }) => instrument.assetClass),
  instrumentColumn("exchange", "text", ({ instrument }) => instrument.exchange),
  instrumentColumn("currency", "text", ({ instrument }) => instrument.currency),
  instrumentColumn("sector", "text", ({ instrument }) => instrument.sector),
  instrumentColumn("status", "text", ({ snapshot }) => snapshot?.status ?? "insufficient_data"),
  ...FACTORS.map((factor) =>
    instrumentColumn(
      `${factor}Status`,
      "text",
      ({ snapshot }) => factorStatusAnswer(snapshot?.factors[factor] ?? { status: "not_observed" }),
      "As status of a factor in get_factors.",
    ),
  ),
  instrumentColumn("firstDataAt", "instant", (row) => dataSpan(row).firstDataAt),
  instrumentColumn("lastDataAt", "instant", (row) => dataSpan(row).lastDataAt),
  instrumentColumn(
    "nextReport",
    "text",
    ({ instrument, snapshot, market }) =>
      snapshot === undefined
        ? null
        : (nextReportAnswer(instrument, market.knownUntil(), market).nextReport?.expected ?? null),
    "Day on which the next quarterly report is expected to be filed; empty: not known, or none is filed.",
  ),
  instrumentColumn("market", "text", ({ market }) => market.mode),
  instrumentColumn(
    "match",
    "text",
    ({ match }) => match ?? null,
    "How it matches the query, as in find_instruments; empty: no query.",
  ),
];

function dataSpan({ instrument, snapshot, market }: InstrumentRow) {
  if (snapshot === undefined) return { firstDataAt: null, lastDataAt: null };
  return knownBarSpan(market.records(instrument.symbol), market.knownUntil());
}

/** The instants at which the oldest and the newest known bar became known. */
export function knownBarSpan({ bars }: Pick<InstrumentRecords, "bars">, at: number) {
  const known = countKnownRecords(bars, at);
  return {
    firstDataAt: isoInstantOrNull(bars.at(0)?.availableAt ?? null),
    lastDataAt: isoInstantOrNull(known === 0 ? null : (bars.at(known - 1)?.availableAt ?? null)),
  };
}
