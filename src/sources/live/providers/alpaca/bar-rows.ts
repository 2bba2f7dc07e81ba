import { z } from "zod";
import type { Bar } from "../../../../market/records.ts";
import type { Observation, Rejected } from "../../provider.ts";
import { withDot } from "../../provider-symbols.ts";
import { isFuture, stockBarKnown } from "../../publication-times.ts";

/** Daily bars by symbol, oldest first. */
export const BarPage = z.looseObject({
  bars: z
    .record(
      z.string(),
      z.array(
        z.looseObject({
          /** Midnight in New York, which is on the same date in UTC. */
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

/** One bar as reported. */
export type BarRow = Pick<Bar, "session" | "open" | "high" | "low" | "close" | "volume">;

/** The bars of a symbol up to a session, oldest first. */
export function rowsOf(
  { bars }: z.infer<typeof BarPage>,
  symbol: string,
  end: string,
): readonly BarRow[] {
  return (bars?.[withDot(symbol)] ?? [])
    .map(({ t, o, h, l, c, v }) => {
      return { session: t.slice(0, 10), open: o, high: h, low: l, close: c, volume: v };
    })
    .filter(({ session }) => session <= end)
    .sort((one, other) => (one.session < other.session ? -1 : 1));
}

/** A split between the edges of a window of bars. */
export interface FoundSplit {
  /** Session of the last bar. */
  readonly session: string;
  /** New shares per old share. */
  readonly ratio: number;
  /** Whether no bar lies between the edges: then the session is the ex-date. */
  readonly isLocated: boolean;
}

/** Context of the bars of one symbol. */
interface BarContext {
  readonly symbol: string;
  /** Only sessions after this one are given. */
  readonly done: string;
  readonly split: FoundSplit | undefined;
  /** Unix milliseconds. */
  readonly receivedAt: number;
}

/** Observations of bars, and rejections of future ones. */
export const observationsOf = (
  rows: readonly BarRow[],
  context: BarContext,
): (Observation | Rejected)[] =>
  rows.filter(({ session }) => session > context.done).map((row) => siftOne(row, context));

function siftOne(row: BarRow, { symbol, split, receivedAt }: BarContext): Observation | Rejected {
  const { session } = row;
  const at = Date.parse(session);
  const place = { feed: "bars", symbol, at, id: session } as const;
  if (isFuture(at, receivedAt)) return { ...place, reason: "it has not begun" };
  const ratio = split?.session === session ? split.ratio : 1;
  const record = { ...row, availableAt: stockBarKnown(session), dividend: 0, split: ratio };
  return { ...place, record };
}
