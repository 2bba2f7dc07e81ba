import { isBlockTrade } from "../market/block-size.ts";
import { newYorkDate } from "../market/new-york.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import type {
  Bar,
  InstrumentRecords,
  PointInTimeRecord,
  Print,
  RecordList,
  ShortVolume,
  WeeklyVolume,
} from "../market/records.ts";
import { clip } from "../statistics/statistics.ts";

/** Age of the newest off-exchange record, in market days, above which a feed is stale. */
export const MAX_FEED_AGE_DAYS = 5;
/** |side| of a print, in [0, 1], below which the print counts as executed at the midpoint. */
export const MIN_TRADE_SIGN = 0.1;

/** Totals of the off-exchange trading in one session. Canceled prints count only in `canceled`. */
export interface OffExchangeDay {
  readonly session: string;
  prints: number;
  shares: number;
  notionalUsd: number;
  blocks: number;
  blockShares: number;
  blockNotionalUsd: number;
  canceled: number;
}

/** Totals of a session without prints. */
const emptyDay = (session: string): OffExchangeDay => ({
  session,
  prints: 0,
  shares: 0,
  notionalUsd: 0,
  blocks: 0,
  blockShares: 0,
  blockNotionalUsd: 0,
  canceled: 0,
});

/**
 * Side of a print by a graded quote rule, in [-1, 1] and positive for buys: clip(2 (price - mid) /
 * (ask - bid), -1, 1), or 0 if the clipped value is below 0.1 in absolute value.
 *
 * @returns `null` if quotes are missing, locked or crossed, or if the sale conditions say that the
 * price did not come from the quotes. There is no tick-rule fallback.
 */
export function estimatedSide({ price, bid, ask, signable }: Print): number | null {
  if (!signable || bid === null || ask === null || ask <= bid) return null;
  const sign = clip((2 * (price - (bid + ask) / 2)) / (ask - bid), 1);
  return Math.abs(sign) < MIN_TRADE_SIGN ? 0 : sign;
}

/**
 * Adds a print to the totals of its session. `days` is keyed by session, in order of first
 * appearance.
 */
export function addPrintToDay(days: Map<string, OffExchangeDay>, print: Print): void {
  const day = days.get(print.session) ?? emptyDay(print.session);
  days.set(print.session, day);
  if (print.canceled) {
    day.canceled++;
    return;
  }
  const notional = print.price * print.sizeShares;
  day.prints++;
  day.shares += print.sizeShares;
  day.notionalUsd += notional;
  if (!isBlockTrade(print)) return;
  day.blocks++;
  day.blockShares += print.sizeShares;
  day.blockNotionalUsd += notional;
}

/** A requested time range; times are in Unix milliseconds. */
export interface OffExchangeQuery {
  /** Cutoff in Unix milliseconds; only records known by then are used. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
  /**
   * First and last date (ISO 8601) if the caller requested dates: records are then selected by
   * session, not by time.
   */
  readonly fromDate?: string | undefined;
  readonly toDate?: string | undefined;
  readonly dayMs: number;
}

/**
 * `no_feed`: there is no feed, or the feed begins after the range; `no_activity`: no records
 * in the range; `stale`: the feed has ended.
 */
type FeedStatus = "ok" | "stale" | "no_activity" | "no_feed";

/** Off-exchange trading of one instrument in a range. */
export interface OffExchangeView {
  readonly feeds: { readonly prints: FeedStatus; readonly shortVolume: FeedStatus };
  /** Prints that traded in the range, oldest first. */
  readonly prints: readonly Print[];
  /** The newest known week that began by the end of the range; `null` if there is none. */
  readonly week: WeeklyVolume | null;
  /** Computes the totals of all sessions that overlap the range, newest first. */
  days(): readonly OffExchangeDaySummary[];
}

/**
 * Off-exchange totals and consolidated volume of one session; a figure without a feed is
 * `null`.
 */
export interface OffExchangeDaySummary {
  readonly session: string;
  readonly prints: Omit<OffExchangeDay, "session"> | null;
  /** Consolidated volume in shares; `null` while the session's bar is not known. */
  readonly volume: number | null;
  /** Fraction of the off-exchange volume that is marked short, in [0, 1]. */
  readonly shortVolumeRatio: number | null;
}

/** Selects the records of a range, as known at the instant `range.at`. */
export function offExchangeView(
  records: InstrumentRecords,
  range: OffExchangeQuery,
): OffExchangeView {
  const known = <R extends PointInTimeRecord>(list: RecordList<R> = []) =>
    list.slice(0, countKnownRecords(list, range.at));
  const prints = known(records.prints);
  const shortVolumes = known(records.shortVolumes);
  const times = new Map<string, number>();
  for (const { session, tradedAt } of prints) times.set(session, tradedAt);
  for (const { session, availableAt } of shortVolumes) times.set(session, availableAt);
  const barOf = barsOf(times, records.bars, range.at);
  const timeOf = (session: string) => barOf.get(session)?.availableAt ?? times.get(session) ?? 0;
  return {
    feeds: {
      prints: feedStatus(
        prints.map(({ session, tradedAt }) => ({ session, time: tradedAt })),
        range,
      ),
      shortVolume: feedStatus(
        shortVolumes.map(({ session }) => ({ session, time: timeOf(session) })),
        range,
      ),
    },
    prints: prints.filter(({ session, tradedAt: time }) => isInRange({ session, time }, range)),
    week: newestWeek(
      known(records.weeklyVolumes),
      range.toDate ?? newYorkDate(Math.min(range.at, range.to)),
    ),
    days() {
      const silentMs = range.at - (prints.at(-1)?.tradedAt ?? 0);
      const hasEnded = silentMs > MAX_FEED_AGE_DAYS * range.dayMs;
      const summarize = daySummaries(prints, shortVolumes, { hasEnded });
      const sessions = [...times.keys()].filter((session) =>
        isInRange({ session, time: timeOf(session) }, range),
      );
      return sessions
        .sort()
        .reverse()
        .map((session) => ({ ...summarize(session), volume: barOf.get(session)?.volume ?? null }));
    },
  };
}

/** The bars known at `at`, by session, back to the earliest of `sessions`. */
function barsOf(
  sessions: ReadonlyMap<string, unknown>,
  bars: RecordList<Bar>,
  at: number,
): ReadonlyMap<string, Bar> {
  const found = new Map<string, Bar>();
  const [earliest] = [...sessions.keys()].sort();
  for (let index = countKnownRecords(bars, at) - 1; index >= 0; index--) {
    const bar = bars.at(index) as Bar;
    if (earliest === undefined || bar.session < earliest) break;
    // If a session has two bars, the newer bar is used.
    if (!found.has(bar.session)) found.set(bar.session, bar);
  }
  return found;
}

/** The session of an off-exchange record, and the instant by which it is ordered and selected. */
interface Moment {
  readonly session: string;
  /**
   * When the print was traded; for a short volume, when the bar of its session became known or,
   * without a bar, when the short volume became known. Unix milliseconds.
   */
  readonly time: number;
}

function isInRange({ session, time }: Moment, range: OffExchangeQuery): boolean {
  const { from, to, fromDate, toDate } = range;
  const isAfterStart = fromDate === undefined ? time >= from : session >= fromDate;
  // The label of a session shorter than a day is an instant, which begins with the date.
  const date = session.slice(0, "2020-01-31".length);
  return isAfterStart && (toDate === undefined ? time <= to : date <= toDate);
}

/**
 * The newest week that began on or before a date.
 *
 * @param by ISO 8601 date.
 */
const newestWeek = (weeks: readonly WeeklyVolume[], by: string): WeeklyVolume | null =>
  weeks
    .filter(({ weekStart }) => weekStart <= by)
    .reduce<WeeklyVolume | null>(
      (newest, week) => (newest && newest.weekStart > week.weekStart ? newest : week),
      null,
    );

/**
 * Status of a feed in a range.
 *
 * @param moments Moments of all known records of the feed, ascending.
 */
function feedStatus(moments: readonly Moment[], range: OffExchangeQuery): FeedStatus {
  const { at, to, dayMs } = range;
  const [first, last] = [moments[0], moments.at(-1)];
  if (first === undefined || last === undefined || to < first.time) return "no_feed";
  if (Math.min(at, to) - last.time > MAX_FEED_AGE_DAYS * dayMs) return "stale";
  return moments.some((moment) => isInRange(moment, range)) ? "ok" : "no_activity";
}

/**
 * Returns a function that summarizes a session. Prints count as observed from the first print to
 * the last print, or to the present while the feed is live.
 */
function daySummaries(
  prints: readonly Print[],
  shortVolumes: readonly ShortVolume[],
  { hasEnded }: { readonly hasEnded: boolean },
) {
  const days = new Map<string, OffExchangeDay>();
  for (const print of prints) addPrintToDay(days, print);
  const shorts = new Map(shortVolumes.map((day) => [day.session, day]));
  const [first, last] = [prints[0]?.session, prints.at(-1)?.session];
  return (session: string) => {
    const short = shorts.get(session);
    const isObserved =
      first !== undefined &&
      session >= first &&
      !(hasEnded && last !== undefined && session > last);
    return {
      session,
      prints: isObserved ? (days.get(session) ?? emptyDay(session)) : null,
      shortVolumeRatio:
        short && short.totalShares > 0 ? short.shortShares / short.totalShares : null,
    };
  };
}

/**
 * Sums the totals of several sessions; the short ratio is not summed but taken from the newest
 * session that has a ratio.
 *
 * @param days Newest first.
 */
export function summarizeOffExchangeDays(
  days: readonly OffExchangeDaySummary[],
): Omit<OffExchangeDaySummary, "session"> {
  const printed = days.map(({ prints }) => prints).filter((prints) => prints !== null);
  const sum = (pick: (day: Omit<OffExchangeDay, "session">) => number) =>
    printed.reduce((total, day) => total + pick(day), 0);
  const volumes = days.map(({ volume }) => volume);
  const isWhole = volumes.length > 0 && printed.length === days.length;
  return {
    prints:
      printed.length === 0
        ? null
        : {
            prints: sum(({ prints }) => prints),
            shares: sum(({ shares }) => shares),
            notionalUsd: sum(({ notionalUsd }) => notionalUsd),
            blocks: sum(({ blocks }) => blocks),
            blockShares: sum(({ blockShares }) => blockShares),
            blockNotionalUsd: sum(({ blockNotionalUsd }) => blockNotionalUsd),
            canceled: sum(({ canceled }) => canceled),
          },
    volume:
      isWhole && volumes.every((volume) => volume !== null)
        ? volumes.reduce((total, volume) => total + volume, 0)
        : null,
    shortVolumeRatio: days.find((day) => day.shortVolumeRatio !== null)?.shortVolumeRatio ?? null,
  };
}
