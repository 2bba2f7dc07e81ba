import { z } from "zod";
import { NextReportFields, nextReportAnswer } from "../answers/next-report.ts";
import {
  AnswerStatus,
  type DetailLevel,
  InstantAnswer,
  InstrumentIdentity,
  isoInstantOrNull,
} from "../answers/shared-members.ts";
import { FactorStatusAnswer, factorStatusAnswer } from "../answers/why.ts";
import { FACTORS, type Factor } from "../factors/reading.ts";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { MarketMode } from "../market/market.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import { MATCHES, type Match } from "../market/symbols.ts";
import type { Snapshot } from "../score/snapshot.ts";
import { columnOf, columnsOf, membersOf, membersSchema } from "../tables/row.ts";

/** An instrument with its newest snapshot. */
export interface InstrumentRecord {
  readonly instrument: Instrument;
  /** The newest snapshot; `undefined` before the first price. */
  readonly snapshot: Snapshot | undefined;
  readonly market: MarketView;
  /** How the instrument matches the query; `undefined` without a query. */
  readonly match: Match | undefined;
}

/** Without a price, no factor can be measured. */
const factorStatus = ({ snapshot }: InstrumentRecord, factor: Factor) =>
  factorStatusAnswer(snapshot?.factors[factor] ?? { status: "not_observed" });

const column = columnOf<InstrumentRecord>();

const factorColumn = (factor: Factor) =>
  column(FactorStatusAnswer, (record) => factorStatus(record, factor), {
    about: "As status of a factor in get_factors.",
  });

/**
 * The columns of instruments: CSV and `fields` have all of them, items of lists some. New columns
 * come at the end.
 */
const instrumentRow = {
  symbol: column(z.string(), ({ instrument }) => instrument.symbol),
  name: column(z.string(), ({ instrument }) => instrument.name),
  assetClass: column(AssetClass, ({ instrument }) => instrument.assetClass),
  exchange: column(InstrumentIdentity.shape.exchange, ({ instrument }) => instrument.exchange),
  currency: column(z.string(), ({ instrument }) => instrument.currency),
  sector: column(z.string().nullable(), ({ instrument }) => instrument.sector),
  status: column(AnswerStatus, ({ snapshot }) => snapshot?.status ?? "insufficient_data"),
  momentumStatus: factorColumn("momentum"),
  valuationStatus: factorColumn("valuation"),
  socialStatus: factorColumn("social"),
  darkpoolStatus: factorColumn("darkpool"),
  firstDataAt: column(InstantAnswer.nullable(), (record) => dataSpan(record).firstDataAt),
  lastDataAt: column(InstantAnswer.nullable(), (record) => dataSpan(record).lastDataAt),
  nextReport: column(
    z.string().nullable(),
    (record) => nextReportOf(record).nextReport?.expected ?? null,
    {
      about:
        "Day on which the next quarterly report is expected to be filed; empty: not known, or none is filed.",
    },
  ),
  market: column(MarketMode, ({ market }) => market.mode),
  match: column(z.enum(MATCHES).nullable(), ({ match }) => match ?? null, {
    about: "How it matches the query, as in find_instruments; empty: no query.",
  }),
};

/** All columns of instruments, in the order of their table. */
export const instrumentColumns = columnsOf(instrumentRow);

/** The first members of an instrument in a list. */
const IDENTITY = {
  full: ["symbol", "name", "assetClass", "exchange", "currency", "sector", "status"],
  brief: ["symbol", "name", "assetClass", "sector", "status"],
} as const;

const DATA_SPAN = { full: ["firstDataAt", "lastDataAt"], brief: [] } as const;

/** An instrument in a list. */
export const InstrumentItem = z.object({
  ...membersSchema(instrumentRow, IDENTITY).shape,
  factors: z
    .record(z.enum(FACTORS), FactorStatusAnswer)
    .describe("Which factors can be measured, and why the others cannot.")
    .optional(),
  ...membersSchema(instrumentRow, DATA_SPAN).shape,
  ...NextReportFields.partial().shape,
  match: z
    .enum(MATCHES)
    .optional()
    .describe(
      "With query: symbol; word: all its words; prefix: their beginnings; some: not all of them; substring: only inside a word. The last two are rarely meant.",
    ),
});

/** Renders an instrument as an item of a list. */
export const instrumentItem = (
  record: InstrumentRecord,
  detail: DetailLevel,
): z.input<typeof InstrumentItem> => ({
  ...membersOf(instrumentRow, IDENTITY[detail], record, detail),
  ...(detail === "full" && {
    factors: {
      momentum: factorStatus(record, "momentum"),
      valuation: factorStatus(record, "valuation"),
      social: factorStatus(record, "social"),
      darkpool: factorStatus(record, "darkpool"),
    },
    ...membersOf(instrumentRow, DATA_SPAN.full, record, detail),
    ...nextReportOf(record),
  }),
  ...(record.match && { match: record.match }),
});

const nextReportOf = ({ instrument, snapshot, market }: InstrumentRecord) =>
  snapshot === undefined
    ? { nextReport: null, nextReportReason: "No price is known yet." }
    : nextReportAnswer(instrument, market.knownUntil(), market);

/** The instants at which the oldest and the newest known bar became known. */
function dataSpan({ instrument, snapshot, market }: InstrumentRecord) {
  if (snapshot === undefined) return { firstDataAt: null, lastDataAt: null };
  const { bars } = market.records(instrument.symbol);
  const known = countKnownRecords(bars, market.knownUntil());
  return {
    firstDataAt: isoInstantOrNull(bars.at(0)?.availableAt ?? null),
    lastDataAt: isoInstantOrNull(known === 0 ? null : (bars.at(known - 1)?.availableAt ?? null)),
  };
}
