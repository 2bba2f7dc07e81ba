import { z } from "zod";
import { nextReportAnswer } from "../answers/next-report.ts";
import {
  roundFraction,
  roundPointDifference,
  roundRatio,
  roundScorePoints,
  roundToWholePoints,
} from "../answers/rounding.ts";
import {
  type DetailLevel,
  DirectionAnswer,
  InstantAnswer,
  InstrumentIdentity,
  isoInstant,
  isoInstantOrNull,
} from "../answers/shared-members.ts";
import { sessionOfSnapshot } from "../answers/signal-point.ts";
import { AssetClass } from "../market/instrument.ts";
import { MarketMode } from "../market/market.ts";
import { newestKnownRecord } from "../market/point-in-time.ts";
import { runningMethod } from "../method/running.ts";
import { type PastSnapshot, SNAPSHOT_STATUSES } from "../score/snapshot.ts";
import {
  type ColumnNotes,
  columnOf,
  columnsOf,
  membersOf,
  membersSchema,
  seriesSchema,
} from "../tables/row.ts";
import type { Cell } from "../tables/table.ts";
import type { ToolContext } from "./tool.ts";

/** A snapshot, and the market and history from which its columns are computed. */
interface SignalRecord {
  readonly snapshot: PastSnapshot;
  readonly context: Pick<ToolContext, "market" | "snapshots">;
}

const column = columnOf<SignalRecord>();

/** A column that is read from the snapshot alone. */
const snapshotColumn = <S extends z.ZodType>(
  schema: S,
  cell: (snapshot: PastSnapshot) => z.input<S> & Cell,
  notes: ColumnNotes = {},
) => column(schema, ({ snapshot }) => cell(snapshot), notes);

const Points = z.number().min(0).max(100);
const Fraction = z.number().min(0).max(1);

/**
 * The columns of signals: of several instruments at one time, or of one instrument over time. They
 * are the table of CSV and `fields`; lists, histories and widgets show some of them. New columns
 * come at the end.
 */
export const signalRow = {
  session: column(
    z.string().describe("The day; an instant where sessions are shorter."),
    ({ snapshot, context }) => sessionOfSnapshot(snapshot, context),
    { about: "Trading date; of a coin the UTC day.", display: { header: "Session" } },
  ),
  symbol: snapshotColumn(z.string(), ({ instrument }) => instrument.symbol, {
    display: { header: "Symbol" },
  }),
  name: snapshotColumn(z.string(), ({ instrument }) => instrument.name, {
    display: { header: "Name" },
  }),
  assetClass: snapshotColumn(AssetClass, ({ instrument }) => instrument.assetClass, {
    display: { header: "Class" },
  }),
  exchange: snapshotColumn(
    InstrumentIdentity.shape.exchange,
    ({ instrument }) => instrument.exchange,
  ),
  asOf: snapshotColumn(InstantAnswer, ({ at }) => isoInstant(at), {
    display: { header: "As of", isHidden: true },
  }),
  status: snapshotColumn(z.enum(SNAPSHOT_STATUSES), ({ status }) => status, {
    display: { header: "Status" },
  }),
  signal: snapshotColumn(DirectionAnswer, ({ signal }) => signal.direction, {
    display: { header: "Signal", colors: { LONG: "green", SHORT: "red" } },
  }),
  score: snapshotColumn(Points.int().nullable(), ({ score }) => roundToWholePoints(score), {
    about: "Points, 0 to 100; empty: no part of it could be measured.",
    display: { header: "Score", format: "int" },
  }),
  scoreRaw: snapshotColumn(Points.nullable(), ({ score }) => score, { round: roundScorePoints }),
  scoreSmoothed: snapshotColumn(Points.nullable(), ({ signal }) => signal.smoothed, {
    round: roundScorePoints,
    display: { header: "Smoothed", decimals: 2 },
  }),
  confidence: snapshotColumn(Fraction, ({ confidence }) => confidence, {
    about: "Fraction.",
    round: roundFraction,
    display: { header: "Confidence", format: "percent", decimals: 0 },
  }),
  coverage: snapshotColumn(Fraction, ({ coverage }) => coverage, {
    about: "Fraction.",
    round: roundFraction,
    display: { header: "Coverage", format: "percent", decimals: 0 },
  }),
  since: snapshotColumn(InstantAnswer, ({ signal }) => isoInstant(signal.since), {
    about: "When the signal began.",
    display: { header: "Signal since", isHidden: true },
  }),
  price: snapshotColumn(
    z.number().nullable().describe("Close as traded."),
    ({ price }) => price?.value ?? null,
    { about: "Newest close as traded.", display: { header: "Price", decimals: 2 } },
  ),
  currency: snapshotColumn(z.string(), ({ instrument }) => instrument.currency, {
    display: { header: "Currency" },
  }),
  priceAt: snapshotColumn(InstantAnswer.nullable(), ({ price }) =>
    isoInstantOrNull(price?.at ?? null),
  ),
  methodVersion: snapshotColumn(
    z.string(),
    ({ methodVersion = runningMethod().version }) => methodVersion,
  ),
  market: column(MarketMode, ({ context }) => context.market.mode, {
    display: { header: "Market", isHidden: true },
  }),
  sector: snapshotColumn(z.string().nullable(), ({ instrument }) => instrument.sector, {
    display: { header: "Sector" },
  }),
  scoreChange: column(
    z.number().nullable(),
    ({ snapshot, context }) => scoreChange(snapshot, context),
    {
      description: "Points since the close before the last; null: there is none.",
      round: roundPointDifference,
      display: { header: "Change in points", decimals: 2, isSigned: true },
    },
  ),
  return: column(z.number().nullable(), returnOf, {
    description: "Of the session, as a fraction, dividends and splits included; null: no bar.",
    round: roundRatio,
    display: { header: "Return", format: "percent", decimals: 2, isSigned: true },
  }),
  nextReport: column(
    z.string().nullable(),
    ({ snapshot: { instrument, at }, context: { market } }) =>
      nextReportAnswer(instrument, at, market).nextReport?.expected ?? null,
    {
      about:
        "Day on which the next quarterly report was expected to be filed; empty: not known, or none is filed.",
    },
  ),
  previousSignal: snapshotColumn(DirectionAnswer.nullable(), ({ signal }) => signal.previous, {
    about: "Signal before since; empty: none is recorded.",
  }),
  steadiness: snapshotColumn(Points.nullable(), ({ steadiness }) => steadiness?.value ?? null, {
    about:
      "Points, 0 to 100: rank among stocks or coins by how far they are likely to fall; empty: none.",
    round: Math.round,
    display: { header: "Steadiness", format: "int" },
  }),
};

/** All columns of signals, in the order of their table. */
export const signalColumns = columnsOf(signalRow);

/** The members of an instrument in a list of signals. */
const ITEM = {
  full: [
    "symbol",
    "name",
    "assetClass",
    "exchange",
    "sector",
    "asOf",
    "status",
    "signal",
    "score",
    "scoreRaw",
    "scoreSmoothed",
    "confidence",
    "coverage",
    "scoreChange",
  ],
  brief: ["symbol", "name", "signal", "score", "scoreChange", "confidence", "coverage", "status"],
} as const;

/** One instrument in a list of signals. */
export const SignalItem = membersSchema(signalRow, ITEM).extend({
  steadiness: Points.int()
    .nullable()
    .optional()
    .describe("Of a list that is sorted or filtered by it; null: not ranked."),
});

/** Renders a snapshot as an item of a list. */
export const signalItem = (record: SignalRecord, detail: DetailLevel): z.input<typeof SignalItem> =>
  membersOf(signalRow, ITEM[detail], record, detail);

/** One instrument in a list of signals, in full. */
export type FullSignalItem = ReturnType<typeof fullSignalItem>;

/** Renders a snapshot in full, as an item of a list. */
export const fullSignalItem = (record: SignalRecord) =>
  membersOf(signalRow, ITEM.full, record, "full");

/** The columns of a signal history, if the query has no `fields`. */
export const SIGNAL_HISTORY = {
  full: [
    "session",
    "score",
    "price",
    "asOf",
    "status",
    "signal",
    "scoreRaw",
    "scoreSmoothed",
    "confidence",
    "coverage",
    "return",
  ],
  brief: ["session", "score", "price"],
} as const;

/** A signal history: the values of each column, oldest first. */
export const SignalSeries = seriesSchema(signalRow, SIGNAL_HISTORY.full).extend({
  // Published without bounds, which lists have.
  score: z.array(z.int().nullable()),
});

/**
 * What the session that closed last changed in a score, with what became known since, in points:
 * the score less that at the close before. `null` if one of the two does not exist, or another
 * method computed it.
 */
export function scoreChange(
  { instrument, at, score, methodVersion }: PastSnapshot,
  { snapshots }: Pick<ToolContext, "snapshots">,
): number | null {
  const before = snapshots.history(instrument.symbol, 0, at).at(-2);
  // Scores of two methods are not compared.
  if (before?.methodVersion !== methodVersion) return null;
  const from = before?.score ?? null;
  return score === null || from === null ? null : score - from;
}

/**
 * Simple return, as a fraction, of the session that a snapshot belongs to; `null` if the session
 * has no bar, or its bar has no return.
 */
function returnOf({ snapshot, context }: SignalRecord): number | null {
  const { instrument, at } = snapshot;
  const { bars } = context.market.records(instrument.symbol);
  const bar = newestKnownRecord(bars, at);
  if (bar?.session !== sessionOfSnapshot(snapshot, context) || bar.logReturn === null) return null;
  return Math.expm1(bar.logReturn);
}
