import type { Observation, Reading, Rejected } from "../sources/live/provider.ts";
import type { Archive } from "../store/port/archive.ts";
import {
  type ObservationBody,
  kindOf,
  REJECTED_KIND,
  type RejectedBody,
  rejectedSubject,
} from "./rows.ts";

/**
 * Largest daily return that is believed at once, as a natural logarithm: prices that more than
 * double or halve in a day without a split are nearly always errors of the feed.
 */
const MAX_LOG_RETURN = 0.8;

/** Rejected bars since the last that was believed, of which one with a close is looked for. */
const MAX_DOUBTS = 100;

/** A bar and its place. */
type BarObservation = Extract<Observation, { readonly feed: "bars" }>;

/** Closes that a bar is compared with. */
interface Closes {
  /** Of the last bar that was believed; absent before the first. */
  readonly believed?: number | undefined;
  /** Of a bar after it that was not. */
  readonly doubted?: number | undefined;
}

/**
 * Sets bars apart whose price leaps from the bar before. A leap is believed when the next bar is
 * where it led, so that a true one costs a session and not the instrument.
 */
export async function quarantine(
  { data, rejected = [] }: Pick<Reading, "data" | "rejected">,
  archive: Pick<Archive, "read">,
): Promise<{ readonly data: readonly Observation[]; readonly rejected: readonly Rejected[] }> {
  const bars = data.filter((datum) => datum.feed === "bars");
  const good: Observation[] = data.filter((datum) => datum.feed !== "bars");
  const bad: Rejected[] = [...rejected];
  for (const [symbol, some] of Map.groupBy(bars, (datum) => datum.symbol)) {
    const ascending = some.toSorted((one, other) => one.at - other.at);
    let closes = await closesBefore(symbol, ascending[0]?.at ?? 0, archive);
    for (const bar of ascending) {
      const { close } = bar.record;
      const doubt = doubtOf(bar, closes);
      if (doubt === undefined) good.push(bar);
      else bad.push(doubt);
      closes = doubt === undefined ? { believed: close } : { ...closes, doubted: close };
    }
  }
  return { data: good, rejected: bad };
}

/** Why a bar cannot follow those before it, `undefined` when it can. */
function doubtOf(bar: BarObservation, { believed, doubted }: Closes): Rejected | undefined {
  if (believed === undefined || isNear(believed, bar)) return undefined;
  if (doubted !== undefined && isNear(doubted, bar)) return undefined;
  const { symbol, at, id, feed, record } = bar;
  const reason = `the close ${record.close} is too far from the ${believed} before it, and no split explains it`;
  return { symbol, feed, at, id, reason, close: record.close };
}

function isNear(close: number, { record }: BarObservation): boolean {
  const { close: next, dividend, split } = record;
  return Math.abs(Math.log(((next + dividend) * split) / close)) <= MAX_LOG_RETURN;
}

async function closesBefore(
  symbol: string,
  at: number,
  archive: Pick<Archive, "read">,
): Promise<Closes> {
  const newest = { subject: symbol, to: at - 1, order: "newest", limit: 1 } as const;
  const [bar] = await archive.read(kindOf("bars"), newest);
  if (bar === undefined) return {};
  const believed = ((bar.body as ObservationBody).record as BarObservation["record"]).close;
  const subject = rejectedSubject({ feed: "bars", symbol });
  const since = { ...newest, subject, from: bar.at, limit: MAX_DOUBTS };
  const doubts = await archive.read(REJECTED_KIND, since);
  const doubted = doubts.map(({ body }) => (body as RejectedBody).close);
  return { believed, doubted: doubted.find((close) => close !== undefined) };
}
