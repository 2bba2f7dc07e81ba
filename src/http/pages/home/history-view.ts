import { z } from "zod";
import { reportFilingInstants } from "../../../answers/next-report.ts";
import { isoInstant } from "../../../answers/shared-members.ts";
import { exactSignal } from "../../../answers/signal-point.ts";
import { countKnownRecords } from "../../../market/point-in-time.ts";
import type { FactorContributions } from "../../../score/composite.ts";
import { contributionsOf, type PastSnapshot } from "../../../score/snapshot.ts";
import type { FullSignal } from "../../../tool/signal.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import { computeRangeOutcomes, type RangeOutcomes } from "./range-outcomes.ts";

/**
 * Lengths of a history in market days, by value of `range`; `all` shows the whole history that is
 * served.
 */
const RANGES = { "1m": 31, "6m": 183, "1y": 366, all: Number.POSITIVE_INFINITY } as const;

/** Schema of the choices for a history: its length and the scale of the price axis. */
const View = z.object({
  range: z.enum(["1m", "6m", "1y", "all"]).catch("1y"),
  scale: z.enum(["linear", "log"]).catch("linear"),
});
export type HistoryChoice = z.output<typeof View>;

/** Labels of the ranges, in order of length. */
export const historyRangeNames: Readonly<Record<HistoryChoice["range"], string>> = {
  "1m": "1M",
  "6m": "6M",
  "1y": "1Y",
  all: "All",
};

/** Reads the choices from a query; an invalid value becomes the default. */
export const historyChoiceOf = (query: URLSearchParams): HistoryChoice =>
  View.parse({ range: query.get("range"), scale: query.get("scale") });

/** A session of a history. */
export interface HistoryPoint extends ReturnType<typeof exactSignal> {
  readonly asOf: string;
  readonly status: FullSignal["status"];
  /**
   * Close adjusted for later splits: the traded close divided by the ratio of each split since
   * then; `null` if there is no close.
   */
  readonly close: number | null;
  /** Index of the log entry with the session's signal; `undefined` if the signal is not logged. */
  readonly entry: number | undefined;
  /**
   * Points by factor; `undefined` if the score was computed with a method other than the current
   * one.
   */
  readonly contributions: FactorContributions | undefined;
}

/** The history of an instrument, oldest first. */
export interface HistoryView {
  readonly points: readonly HistoryPoint[];
  /** Times at which quarterly reports were filed, in milliseconds since the epoch. */
  readonly filed: readonly number[];
  /**
   * Number of splits within the history. Each closing price is divided by the ratios of all later
   * splits.
   */
  readonly splits: number;
  /** Outcomes of the past forecast ranges; `undefined` if no ranges are published. */
  readonly kept: RangeOutcomes | undefined;
}

/** The snapshots of a range, oldest first; empty while scores are being recomputed. */
export function snapshotsInRange(
  symbol: string,
  range: HistoryChoice["range"],
  { market, snapshots }: ToolContext,
): readonly PastSnapshot[] {
  if (market.isProvisional?.()) return [];
  const { at } = snapshots.newest(symbol);
  return [...snapshots.history(symbol, Math.max(0, at - RANGES[range] * market.dayMs), at)];
}

/** Reads the history of a listed instrument. */
export function viewHistory(
  symbol: string,
  range: HistoryChoice["range"],
  context: ToolContext,
): HistoryView {
  const { market, snapshots, signalLog } = context;
  const past = snapshotsInRange(symbol, range, context);
  const { instrument, at } = snapshots.newest(symbol);
  const from = past[0]?.at ?? at;
  const splits = splitsIn(symbol, from, context);
  return {
    points: past.map((snapshot) => ({
      asOf: isoInstant(snapshot.at),
      status: snapshot.status,
      ...exactSignal(snapshot),
      close: closeOf(snapshot, splits),
      contributions: contributionsOf(snapshot),
      entry: signalLog?.indexOf(instrument, snapshot.at),
    })),
    filed: reportFilingInstants(instrument, from, at, market),
    splits: splits.length,
    kept: computeRangeOutcomes(
      instrument,
      past.map((one) => one.at),
      market,
    ),
  };
}

interface Split {
  readonly availableAt: number;
  readonly split: number;
}

function splitsIn(symbol: string, from: number, { market }: ToolContext): readonly Split[] {
  const { bars } = market.records(symbol);
  const known = bars.slice(
    countKnownRecords(bars, from),
    countKnownRecords(bars, market.knownUntil()),
  );
  return known.filter(({ split }) => split !== 1);
}

function closeOf({ price }: PastSnapshot, splits: readonly Split[]): number | null {
  if (price === null) return null;
  const later = splits.filter(({ availableAt }) => availableAt > price.at);
  return later.reduce((close, { split }) => close / split, price.value);
}
