import type { Replay } from "../config/replay.ts";

/** How the time on the wall moves market time. Both in Unix milliseconds. */
export interface MarketClock {
  /** From now on market time moves; until then it stands at its beginning. */
  start(now: number): void;
  /** What counts as now for the market. */
  now(now: number): number;
  /** Moves market time on. @returns The instant up to which the market is known. */
  advance(now: number): number;
  /** Milliseconds until there is more to know, `undefined` when there never will be. */
  untilNext(now: number): number | undefined;
}

/** Pause between two steps of a replay, in milliseconds of the time on the wall. */
const STEP_MS = 250;

const DAY_MS = 86_400_000;

/** Time as it passes, for a market that is known up to the beginning of the present day. */
export function dailyClock(dayMs: number): MarketClock {
  const startOfDay = (now: number) => Math.floor(now / dayMs) * dayMs;
  return {
    start() {},
    now: (now) => now,
    advance: startOfDay,
    untilNext: (now) => startOfDay(now) + dayMs - now,
  };
}

/** Time that stands still. */
export function stoppedClock(at: number): MarketClock {
  return { start() {}, now: () => at, advance: () => at, untilNext: () => undefined };
}

/**
 * Time that is played four steps a second and then stands still at the last instant. A step that is
 * due late is taken late and never doubled: where the machine cannot keep up, the replay is slower
 * than asked, leaves nothing out, and requests are answered between two steps.
 */
export function replayClock({ from, to, daysPerSecond }: Replay): MarketClock {
  const stepDays = (daysPerSecond * STEP_MS) / 1_000;
  let steps = 0;
  let dueAt = Number.POSITIVE_INFINITY;
  const at = () => Math.min(to, from + Math.floor(steps * stepDays * DAY_MS));
  return {
    start(now) {
      dueAt = now + STEP_MS;
    },
    now: at,
    advance(now) {
      if (now < dueAt) return at();
      steps++;
      dueAt = Math.max(dueAt + STEP_MS, now);
      return at();
    },
    untilNext: (now) => (at() === to ? undefined : Math.max(0, dueAt - now)),
  };
}

/** What is observed is on disk and read back within this time, in milliseconds; until then it is not
 *  known, so that nothing comes in behind what was scored. */
const SETTLE_MS = 2_000;

/** Pause between two looks at a live market, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Beyond this, in milliseconds, the machine's clock was not a little wrong: it was set, or the
 *  machine slept. */
const LEAP_MS = 60_000;

/** How near to the clock something must have been observed that shows it to be right, in
 *  milliseconds; clocks of providers may differ as much from ours. */
const CONFIRMED_MS = 10 * 60_000;

/** What the time of a live market is taken from. */
export interface LiveClockParts {
  /** A clock that is never set, Unix milliseconds; absent: the time on the wall is believed. */
  readonly steady?: (() => number) | undefined;
  /** When something was last observed whose giver's clock agreed with that of its observer, Unix
   *  milliseconds. */
  readonly confirmedAt: () => number;
}

/**
 * Time as it passes, for a market of which something may become known at any moment. A leap of the
 * machine's clock is followed once something was observed by it: scores of days that never were
 * would have to be taken back, and what was sent because of them could not be.
 */
export function liveClock({ steady, confirmedAt }: LiveClockParts): MarketClock {
  let aheadMs = 0;
  const timeAt = (wall: number): number => {
    if (steady === undefined) return wall;
    const isConfirmed = Math.abs(wall - confirmedAt()) <= CONFIRMED_MS;
    const leapMs = wall - steady() - aheadMs;
    if (isConfirmed || Math.abs(leapMs) <= LEAP_MS) aheadMs += leapMs;
    return steady() + aheadMs;
  };
  return {
    start() {},
    now: timeAt,
    advance: (wall) => timeAt(wall) - SETTLE_MS,
    untilNext: () => LOOK_EVERY_MS,
  };
}
