import type { Observation, Rejected } from "../sources/live/provider.ts";
import type { Archive } from "../store/port/archive.ts";
import {
  kindOf,
  type ObservationBody,
  REJECTED_KIND,
  type RejectedBody,
  rejectedSubject,
} from "./market-rows.ts";

/**
 * Largest |log return| of a day that is accepted at once: prices that more than double or halve in a
 * day without a split are nearly always errors of the feed.
 */
const MAX_LOG_RETURN = 0.8;

/** Quarantined bars since the last accepted one that are searched for a close. */
const MAX_QUARANTINED = 100;

/** The observation of a bar. */
type BarObservation = Extract<Observation, { readonly feed: "bars" }>;

/** Whether an observation is a bar. */
export const isBar = (observation: Observation): observation is BarObservation =>
  observation.feed === "bars";

/** Closes that a bar is compared with. */
interface Closes {
  /** Of the last accepted bar; absent before the first. */
  readonly accepted?: number | undefined;
  /** Of a quarantined bar after it. */
  readonly quarantined?: number | undefined;
}

/**
 * Quarantines bars whose close leaps from the bar before. The next bar at the new level is accepted,
 * so that a true leap costs one session and not the instrument.
 */
export async function quarantine(
  bars: readonly BarObservation[],
  archive: Pick<Archive, "read">,
): Promise<{ readonly data: readonly Observation[]; readonly rejected: readonly Rejected[] }> {
  const good: Observation[] = [];
  const bad: Rejected[] = [];
  for (const [symbol, some] of Map.groupBy(bars, (observation) => observation.symbol)) {
    const ascending = some.toSorted((one, other) => one.at - other.at);
    let closes = await closesBefore(symbol, ascending[0]?.at ?? 0, archive);
    for (const bar of ascending) {
      const { close } = bar.record;
      const leap = leapOf(bar, closes);
      if (leap === undefined) good.push(bar);
      else bad.push(leap);
      closes = leap === undefined ? { accepted: close } : { ...closes, quarantined: close };
    }
  }
  return { data: good, rejected: bad };
}

/** The quarantined observation of a bar that leaps, `undefined` for one that does not. */
function leapOf(bar: BarObservation, { accepted, quarantined }: Closes): Rejected | undefined {
  if (accepted === undefined || isNear(accepted, bar)) return undefined;
  if (quarantined !== undefined && isNear(quarantined, bar)) return undefined;
  const { symbol, at, id, feed, record } = bar;
  const reason = `the close ${record.close} is too far from the ${accepted} before it, and no split explains it`;
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
  const accepted = ((bar.body as ObservationBody).record as BarObservation["record"]).close;
  const subject = rejectedSubject({ feed: "bars", symbol });
  const since = { ...newest, subject, from: bar.at, limit: MAX_QUARANTINED };
  const rows = await archive.read(REJECTED_KIND, since);
  const quarantined = rows.map(({ body }) => (body as RejectedBody).close);
  return { accepted, quarantined: quarantined.find((close) => close !== undefined) };
}
