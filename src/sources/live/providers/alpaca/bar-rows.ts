import { z } from "zod";
import type { Bar } from "../../../../market/records.ts";
import type { Observation, RejectedObservation } from "../../provider.ts";
import { dottedSymbol } from "../../provider-symbols.ts";
import { isLaterThanArrival, stockBarKnownAt } from "../../publication-times.ts";

/** Response with daily bars by symbol, oldest first. */
export const BarPage = z.looseObject({
  bars: z
    .record(
      z.string(),
      z.array(
        z.looseObject({
          /** Midnight in New York, which falls on the same date in UTC. */
          t: z.iso.datetime(),
          o: z.number(),
          h: z.number(),
          l: z.number(),
          c: z.number(),
          v: z.number(),
        }),
      ),
    )
    .nullable(),
  next_page_token: z.string().nullable(),
});

/** One bar as reported by Alpaca. */
export type BarRow = Pick<Bar, "session" | "open" | "high" | "low" | "close" | "volume">;

/** The bars of a symbol up to and including a session, oldest first. */
export function barRowsOf(
  { bars }: z.infer<typeof BarPage>,
  symbol: string,
  end: string,
): readonly BarRow[] {
  return (bars?.[dottedSymbol(symbol)] ?? [])
    .map(({ t, o, h, l, c, v }) => {
      return { session: t.slice(0, 10), open: o, high: h, low: l, close: c, volume: v };
    })
    .filter(({ session }) => session <= end)
    .sort((one, other) => (one.session < other.session ? -1 : 1));
}

/** A split between the two edges of a window of bars. */
export interface DetectedSplit {
  /** Session of the bar at the later edge. */
  readonly session: string;
  /** New shares per old share. */
  readonly ratio: number;
  /** Whether no bar lies between the edges, so that `session` is the ex-date. */
  readonly isLocated: boolean;
}

/** Properties that apply to all bars of one symbol in an answer. */
interface BarContext {
  readonly symbol: string;
  /** Last session already read; only later bars are returned. */
  readonly done: string;
  readonly split: DetectedSplit | undefined;
  /** When the answer arrived, Unix milliseconds. */
  readonly receivedAt: number;
}

/** Observations of new bars; bars dated in the future are rejected. */
export const barObservationsOf = (
  rows: readonly BarRow[],
  context: BarContext,
): (Observation | RejectedObservation)[] =>
  rows.filter(({ session }) => session > context.done).map((row) => siftOne(row, context));

function siftOne(
  row: BarRow,
  { symbol, split, receivedAt }: BarContext,
): Observation | RejectedObservation {
  const { session } = row;
  const at = Date.parse(session);
  const place = { feed: "bars", symbol, at, id: session } as const;
  if (isLaterThanArrival(at, receivedAt)) return { ...place, reason: "it has not begun" };
  const ratio = split?.session === session ? split.ratio : 1;
  const record = { ...row, availableAt: stockBarKnownAt(session), dividend: 0, split: ratio };
  return { ...place, record };
}
