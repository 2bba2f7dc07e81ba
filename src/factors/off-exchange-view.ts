import { countKnown } from "../market/point-in-time.ts";
import type { Bar, InstrumentRecords, Known, Print, ShortVolume } from "../market/records.ts";
import { addPrint, emptyDay, type OffExchangeDay } from "./off-exchange.ts";

/** Days without a record after which a feed counts as stale. */
const STALE_AFTER_DAYS = 5;

/** What to look at, all in Unix milliseconds. */
export interface OffExchangeRange {
  /** Only what was known by then. */
  readonly at: number;
  /** Only what traded in [from, to]. */
  readonly from: number;
  readonly to: number;
  readonly dayMs: number;
}

type FeedStatus = "ok" | "stale" | "no_activity" | "not_observed";

/** The off-exchange records of one instrument in a range, oldest first. */
export interface OffExchangeView {
  readonly feeds: { readonly prints: FeedStatus; readonly shortVolume: FeedStatus };
  readonly prints: readonly Print[];
  readonly shortVolumes: readonly ShortVolume[];
  /** Known bars, for the share of volume. */
  readonly bars: readonly Bar[];
}

/** Selects what was known at an instant and traded in a range. */
export function offExchangeView(
  records: InstrumentRecords,
  { at, from, to, dayMs }: OffExchangeRange,
): OffExchangeView {
  const known = <R extends Known>(list: readonly R[]) => list.slice(0, countKnown(list, at));
  const prints = known(records.prints ?? []);
  const shortVolumes = known(records.shortVolumes ?? []);
  const printsInRange = prints.filter(({ tradedAt }) => tradedAt >= from && tradedAt <= to);
  const shortInRange = shortVolumes.filter(
    (day) => day.availableAt >= from && day.availableAt <= to,
  );
  const oldest = Math.min(at, to) - STALE_AFTER_DAYS * dayMs;
  return {
    feeds: {
      prints: feedStatus(records.prints && printsInRange, oldest),
      shortVolume: feedStatus(records.shortVolumes && shortInRange, oldest),
    },
    prints: printsInRange,
    shortVolumes: shortInRange,
    bars: known(records.bars),
  };
}

function feedStatus(list: readonly Known[] | undefined, oldest: number): FeedStatus {
  if (list === undefined) return "not_observed";
  const newest = list.at(-1);
  if (newest === undefined) return "no_activity";
  return newest.availableAt < oldest ? "stale" : "ok";
}

/** Off-exchange trading of one session beside the whole market's. */
export interface DaySummary extends OffExchangeDay {
  /** Consolidated volume in shares, `null` while the session's bar is not known. */
  readonly volume: number | null;
  /** Short-marked share of off-exchange volume in [0, 1], `null` when not known. */
  readonly shortVolumeRatio: number | null;
}

/** One row per session with prints or short volumes, newest first. */
export function offExchangeDays(view: OffExchangeView): readonly DaySummary[] {
  const days = new Map<string, OffExchangeDay>();
  for (const print of view.prints) addPrint(days, print);
  for (const { session } of view.shortVolumes) {
    if (!days.has(session)) days.set(session, emptyDay(session));
  }
  const volumes = new Map(view.bars.map(({ session, volume }) => [session, volume]));
  const shorts = new Map(view.shortVolumes.map((day) => [day.session, day]));
  return [...days.values()]
    .sort((a, b) => (a.session < b.session ? 1 : -1))
    .map((day) => {
      const short = shorts.get(day.session);
      return {
        ...day,
        volume: volumes.get(day.session) ?? null,
        shortVolumeRatio:
          short && short.totalShares > 0 ? short.shortShares / short.totalShares : null,
      };
    });
}

/** The sum of several sessions, newest first; the short ratio is the newest one's. */
export function summariseDays(days: readonly DaySummary[]): Omit<DaySummary, "session"> {
  const sum = (pick: (day: DaySummary) => number) =>
    days.reduce((total, day) => total + pick(day), 0);
  const isVolumeKnown = days.length > 0 && days.every(({ volume }) => volume !== null);
  return {
    prints: sum(({ prints }) => prints),
    shares: sum(({ shares }) => shares),
    notionalUsd: sum(({ notionalUsd }) => notionalUsd),
    blocks: sum(({ blocks }) => blocks),
    blockShares: sum(({ blockShares }) => blockShares),
    blockNotionalUsd: sum(({ blockNotionalUsd }) => blockNotionalUsd),
    canceled: sum(({ canceled }) => canceled),
    volume: isVolumeKnown ? sum(({ volume }) => volume ?? 0) : null,
    shortVolumeRatio:
      days.find(({ shortVolumeRatio }) => shortVolumeRatio !== null)?.shortVolumeRatio ?? null,
  };
}
