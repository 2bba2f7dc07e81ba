import type { Replay } from "../config/replay.ts";

/** Market time as a function of wall-clock time, both in Unix milliseconds. */
export interface MarketClock {
  /** Starts market time; until then it stands at its beginning. */
  start(wall: number): void;
  /** The current time of the market. */
  now(wall: number): number;
  /** Advances market time. @returns The instant up to which the market is known. */
  advance(wall: number): number;
  /** Milliseconds until more becomes known, `undefined` when nothing ever will. */
  untilNext(wall: number): number | undefined;
  /** Where a recording ends, Unix milliseconds; absent for a market without an end. */
  readonly endsAt?: number;
}

/** Pause between two steps of a replay, in milliseconds of wall-clock time. */
const STEP_MS = 250;

const DAY_MS = 86_400_000;

/** A clock that follows wall-clock time, for a market that is known up to the start of the current
 *  day. */
export function dailyClock(dayMs: number): MarketClock {
  const startOfDay = (now: number) => Math.floor(now / dayMs) * dayMs;
  return {
    start() {},
    now: (now) => now,
    advance: startOfDay,
    untilNext: (now) => startOfDay(now) + dayMs - now,
  };
}

/** A stopped clock. */
export function stoppedClock(at: number): MarketClock {
  return { start() {}, now: () => at, advance: () => at, untilNext: () => undefined, endsAt: at };
}

/**
 * Plays recorded time four steps a second and stops at the last instant. A step that is due late is
 * taken late and never doubled: where the machine cannot keep up, the replay is slower than
 * configured, skips nothing, and requests are answered between two steps.
 */
export class ReplayClock implements MarketClock {
  readonly #from: number;
  readonly #to: number;
  readonly #stepDays: number;
  #steps = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor({ from, to, daysPerSecond }: Replay) {
    this.#from = from;
    this.#to = to;
    this.#stepDays = (daysPerSecond * STEP_MS) / 1_000;
  }

  get endsAt(): number {
    return this.#to;
  }

  start(wall: number): void {
    this.#dueAt = wall + STEP_MS;
  }

  now(): number {
    return Math.min(this.#to, this.#from + Math.floor(this.#steps * this.#stepDays * DAY_MS));
  }

  advance(wall: number): number {
    if (wall < this.#dueAt) return this.now();
    this.#steps++;
    this.#dueAt = Math.max(this.#dueAt + STEP_MS, wall);
    return this.now();
  }

  untilNext(wall: number): number | undefined {
    return this.now() === this.#to ? undefined : Math.max(0, this.#dueAt - wall);
  }
}

/** Observations are on disk and read back within this time, in milliseconds. The market counts as
 *  known up to then, so that nothing arrives behind what was scored. */
const READ_BACK_MS = 2_000;

/** Interval of checks for new data of a live market, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** A larger jump of the machine's clock, in milliseconds, means that it was set or that the machine
 *  slept. */
const LEAP_MS = 60_000;

/** Maximum distance in milliseconds between the clock and an observation that confirms it;
 *  providers' clocks may differ from ours by as much. */
const CONFIRMED_MS = 10 * 60_000;

/** The machine's time, for a market in which something may become known at any moment. A jump of
 *  the machine's clock is followed only once an observation confirms it. Otherwise days that never
 *  happened would be scored, and alerts that were sent for them could not be withdrawn. */
export class LiveClock implements MarketClock {
  readonly #steady: (() => number) | undefined;
  readonly #confirmedAt: () => number;
  /** How far the machine's clock is ahead of the steady one. */
  #aheadMs = 0;

  /**
   * @param options.steady A clock that is never set, Unix milliseconds; absent: the machine's clock
   *   is trusted.
   * @param options.confirmedAt When an observation last arrived whose provider's clock agreed with
   *   that of its observer, Unix milliseconds.
   */
  constructor(options: {
    readonly steady?: (() => number) | undefined;
    readonly confirmedAt: () => number;
  }) {
    this.#steady = options.steady;
    this.#confirmedAt = options.confirmedAt;
  }

  start(): void {}

  now(wall: number): number {
    if (this.#steady === undefined) return wall;
    const isConfirmed = Math.abs(wall - this.#confirmedAt()) <= CONFIRMED_MS;
    const leapMs = wall - this.#steady() - this.#aheadMs;
    if (isConfirmed || Math.abs(leapMs) <= LEAP_MS) this.#aheadMs += leapMs;
    return this.#steady() + this.#aheadMs;
  }

  advance(wall: number): number {
    return this.now(wall) - READ_BACK_MS;
  }

  untilNext(): number {
    return LOOK_EVERY_MS;
  }
}
