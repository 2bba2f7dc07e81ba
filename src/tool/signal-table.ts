import { isoInstant, isoInstantOrNull } from "../answers/common.ts";
import { nextReportAnswer } from "../answers/next-report.ts";
import {
  roundFraction,
  roundPointDifference,
  roundRatio,
  roundScorePoints,
  roundToWholePoints,
} from "../answers/rounding.ts";
import { sessionOfSnapshot } from "../answers/signal-point.ts";
import { newestKnownRecord } from "../market/point-in-time.ts";
import { runningMethod } from "../method/running.ts";
import type { PastSnapshot } from "../score/snapshot.ts";
import type { Cell, Column, ColumnType } from "../tables/table.ts";
import type { ToolContext } from "./tool.ts";

/** A row of the signal table: a snapshot, and the market and history from which its columns are
 *  computed. */
export interface SignalRow {
  readonly snapshot: PastSnapshot;
  readonly context: Pick<ToolContext, "market" | "snapshots">;
}

/** A column computed from the snapshot alone. */
const signalColumn = (
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

/**
 * What the session that closed last changed in a score, with what became known since, in points:
 * the score less that at the close before. `null` if one of the two does not exist, or another method
 * computed it.
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
function returnOf({ snapshot, context }: SignalRow): number | null {
  const { instrument, at } = snapshot;
  const { bars } = context.market.records(instrument.symbol);
  const bar = newestKnownRecord(bars, at);
  if (bar?.session !== sessionOfSnapshot(snapshot, context) || bar.logReturn === null) return null;
  return Math.expm1(bar.logReturn);
}

/**
 * Columns of the table of signals: of several instruments at one time, or of one instrument over
 * time.
 */
export const signalColumns: readonly Column<SignalRow>[] = [
  {
    name: "session",
    type: "text",
    about: "Trading date; of a coin the UTC day.",
    cell: ({ snapshot, context }) => sessionOfSnapshot(snapshot, context),
  },
  signalColumn("symbol", "text", ({ instrument }) => instrument.symbol),
  signalColumn("name", "text", ({ instrument }) => instrument.name),
  signalColumn("assetClass", "text", ({ instrument }) => instrument.assetClass),
  signalColumn("exchange", "text", ({ instrument }) => instrument.exchange),
  signalColumn("asOf", "instant", ({ at }) => isoInstant(at)),
  signalColumn("status", "text", ({ status }) => status),
  signalColumn("signal", "text", ({ signal }) => signal.direction),
  signalColumn("score", "integer", ({ score }) => roundToWholePoints(score), {
    about: "Points, 0 to 100; empty: no part of it could be measured.",
  }),
  signalColumn("scoreRaw", "number", ({ score }) => score, { round: roundScorePoints }),
  signalColumn("scoreSmoothed", "number", ({ signal }) => signal.smoothed, {
    round: roundScorePoints,
  }),
  signalColumn("confidence", "number", ({ confidence }) => confidence, {
    about: "Fraction.",
    round: roundFraction,
  }),
  signalColumn("coverage", "number", ({ coverage }) => coverage, {
    about: "Fraction.",
    round: roundFraction,
  }),
  signalColumn("since", "instant", ({ signal }) => isoInstant(signal.since), {
    about: "When the signal began.",
  }),
  signalColumn("price", "number", ({ price }) => price?.value ?? null, {
    about: "Newest close as traded.",
  }),
  signalColumn("currency", "text", ({ instrument }) => instrument.currency),
  signalColumn("priceAt", "instant", ({ price }) => isoInstantOrNull(price?.at ?? null)),
  signalColumn(
    "methodVersion",
    "text",
    ({ methodVersion = runningMethod().version }) => methodVersion,
  ),
  { name: "market", type: "text", cell: ({ context }) => context.market.mode },
  signalColumn("sector", "text", ({ instrument }) => instrument.sector),
  {
    name: "scoreChange",
    type: "number",
    about: "Points since the close before the last; empty: there is none.",
    cell: ({ snapshot, context }) => scoreChange(snapshot, context),
    round: roundPointDifference,
  },
  {
    name: "return",
    type: "number",
    about: "Of the session, as a fraction, dividends and splits included; empty: no bar.",
    cell: returnOf,
    round: roundRatio,
  },
  {
    name: "nextReport",
    type: "text",
    about:
      "Day on which the next quarterly report was expected to be filed; empty: not known, or none is filed.",
    cell: ({ snapshot: { instrument, at }, context: { market } }) =>
      nextReportAnswer(instrument, at, market).nextReport?.expected ?? null,
  },
  signalColumn("previousSignal", "text", ({ signal }) => signal.previous, {
    about: "Signal before since; empty: none is recorded.",
  }),
  signalColumn("steadiness", "number", ({ steadiness }) => steadiness?.value ?? null, {
    about: "Points, 0 to 100: rank among stocks by how far they are likely to fall; empty: none.",
    round: Math.round,
  }),
];
