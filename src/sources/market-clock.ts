import { DAY_MS } from "../lib/day.ts";
import type { ReplaySettings } from "./replay-settings.ts";

/** Market time as a function of wall-clock time, both in Unix milliseconds. */
export interface MarketClock {
  /** Starts market time, which stands still until then. */
  start(wall: number): void;
  /** The current market time. */
  now(wall: number): number;
  /**
   * Advances market time.
   *
   * @returns The instant up to which the market is known.
   */
  advance(wall: number): number;
  /** Milliseconds of wall-clock time until more becomes known; `undefined` if nothing ever will. */
  untilNext(wall: number): number | undefined;
  /** When the recording ends, Unix milliseconds; absent for a market without an end. */
  readonly endsAt?: number;
}

/** Pause between two steps of a replay, in milliseconds of wall-clock time. */
const STEP_MS = 250;

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

/** A clock that always shows the same instant, for a market without new data. */
export function stoppedClock(at: number): MarketClock {
  return { start() {}, now: () => at, advance: () => at, untilNext: () => undefined, endsAt: at };
}

/**
 * Plays recorded time in four steps a second and stops at the last instant. A late step is not
 * followed by a larger one: if the machine is too slow, the replay is slower than configured but
 * skips nothing, and requests are answered between two steps.
 */
export class ReplayClock implements MarketClock {
  readonly #from: number;
  readonly #to: number;
  readonly #stepDays: number;
  #steps = 0;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor({ from, to, daysPerSecond }: ReplaySettings) {
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

/**
 * Maximum time for an observation to be written to disk and read back, in milliseconds. The market
 * counts as known only up to this long before the current time, so that no observation arrives for
 * an instant that was already scored.
 */
const READ_BACK_MS = 2_000;

/** Interval between checks for new data of a live market, in milliseconds. */
const LOOK_EVERY_MS = 5_000;

/**
 * A jump of the machine's clock by more than this, in milliseconds, means that the clock was set or
 * that the machine slept.
 */
const LEAP_MS = 60_000;

/**
 * Maximum difference between the clock and an observation that confirms it, in milliseconds;
 * providers' clocks may differ from ours by this much.
 */
const CONFIRMED_MS = 10 * 60_000;

/**
 * The machine's time, for a market in which data may become known at any moment. A jump of the
 * machine's clock is followed only once an observation confirms it. Otherwise days that never
 * happened would be scored, and alerts sent for these days could not be withdrawn.
 */
export class LiveClock implements MarketClock {
  readonly #steady: (() => number) | undefined;
  readonly #confirmedAt: () => number;
  /** Lead of the machine's clock over the steady one, in milliseconds. */
  #aheadMs = 0;

  /**
   * @param options.steady A clock that is never adjusted, in Unix milliseconds; if absent, the
   * machine's clock is trusted.
   * @param options.confirmedAt When the last observation arrived from a provider whose clock agreed
   * with the clock of the process that received it, Unix milliseconds.
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
