import type { MarketView } from "../market/market-view.ts";
import { newestKnown } from "../market/point-in-time.ts";
import { METHOD_VERSION, type PastSnapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";
import type { ToolContext } from "../tool.ts";
import { isoInstant, isoInstantOrNull } from "./common.ts";
import { nextReportAnswer } from "./next-report.ts";
import { fraction, pointDifference, points, ratio, wholePoints } from "./rounding.ts";
import { sessionOf } from "./signal-point.ts";

/** A row of the signal table: a snapshot, and the market and history from which its columns are
 *  computed. */
export interface SignalRow {
  readonly snapshot: PastSnapshot;
  readonly context: Pick<ToolContext, "market" | "snapshots">;
}

/** A column that depends on the snapshot only. */
const of = (
  name: string,
  type: ColumnType,
  cell: (snapshot: PastSnapshot) => Cell,
  { about, round }: Pick<Column<SignalRow>, "about" | "round"> = {},
): Column<SignalRow> => ({
  name,
  type,
  ...(about !== undefined && { about }),
  cell: ({ snapshot }) => cell(snapshot),
  ...(round && { round }),
});

/** Points that the score moved since the close before; `null` without one. */
export function scoreChange(
  { instrument, at, score }: PastSnapshot,
  { snapshots }: Pick<ToolContext, "snapshots">,
): number | null {
  const before = snapshots.history(instrument.symbol, 0, at - 1).at(-1);
  return before === undefined ? null : score - before.score;
}

/** Simple return of the session that closed at a snapshot; `null` without a bar of it. */
function returnOf(snapshot: PastSnapshot, market: MarketView): number | null {
  const { instrument, at } = snapshot;
  const { bars } = market.records(instrument.symbol);
  const bar = newestKnown(bars, at);
  if (bar?.session !== sessionOf(snapshot, market) || bar.logReturn === null) return null;
  return Math.expm1(bar.logReturn);
}

/** Columns of signals: of several instruments at one time, and of one instrument over time. */
export const signalColumns: readonly Column<SignalRow>[] = [
  {
    name: "session",
    type: "text",
    about: "Trading date; of a coin the UTC day.",
    cell: ({ snapshot, context }) => sessionOf(snapshot, context.market),
  },
  of("symbol", "text", ({ instrument }) => instrument.symbol),
  of("name", "text", ({ instrument }) => instrument.name),
  of("assetClass", "text", ({ instrument }) => instrument.assetClass),
  of("exchange", "text", ({ instrument }) => instrument.exchange),
  of("asOf", "instant", ({ at }) => isoInstant(at)),
  of("status", "text", ({ status }) => status),
  of("signal", "text", ({ signal }) => signal.direction),
  of("score", "integer", ({ score }) => wholePoints(score), {
    about: "Points, 0 to 100.",
  }),
  of("scoreRaw", "number", ({ score }) => score, { round: points }),
  of("scoreSmoothed", "number", ({ signal }) => signal.smoothed, { round: points }),
  of("confidence", "number", ({ confidence }) => confidence, {
    about: "Fraction.",
    round: fraction,
  }),
  of("coverage", "number", ({ coverage }) => coverage, { about: "Fraction.", round: fraction }),
  of("since", "instant", ({ signal }) => isoInstant(signal.since), {
    about: "When the signal began.",
  }),
  of("price", "number", ({ price }) => price?.value ?? null, {
    about: "Newest close as traded.",
  }),
  of("currency", "text", ({ instrument }) => instrument.currency),
  of("priceAt", "instant", ({ price }) => isoInstantOrNull(price?.at ?? null)),
  of("methodVersion", "text", ({ methodVersion = METHOD_VERSION }) => methodVersion),
  { name: "market", type: "text", cell: ({ context }) => context.market.mode },
  of("sector", "text", ({ instrument }) => instrument.sector),
  {
    name: "scoreChange",
    type: "number",
    about: "Points since the close before; empty: there is none.",
    cell: ({ snapshot, context }) => scoreChange(snapshot, context),
    round: pointDifference,
  },
  {
    name: "return",
    type: "number",
    about: "Of the session, as a fraction, dividends and splits included; empty: no bar.",
    cell: ({ snapshot, context }) => returnOf(snapshot, context.market),
    round: ratio,
  },
  {
    name: "nextReport",
    type: "text",
    about: "When the next quarterly report was expected; empty: not known, or none is filed.",
    cell: ({ snapshot: { instrument, at }, context: { market } }) =>
      nextReportAnswer(instrument, at, market).nextReport?.expected ?? null,
  },
];
