import type { Schedule } from "../lib/loop.ts";
import type { Addition, CountedWindow, Counters } from "../store/port/counters.ts";

/** How long a caller waits for the database, in milliseconds. */
const PATIENCE_MS = 250;

/** Pause after the database failed, in milliseconds. */
const REST_MS = 1_000;

/** Windows that are asked about in one statement, so that none lasts long. */
const MAX_BATCH = 500;

/** What is told to the database. */
export interface Question extends Addition {
  /**
   * Told what came of it, however late; never when that is not known.
   *
   * @param askedAt When it was asked, by the clock of the teller.
   */
  readonly learn: (answer: CountedWindow, askedAt: number) => void;
}

/** What speaks with the counters. */
export interface Teller {
  /**
   * Adds to a window. Of several additions to one, each is told of the points up to its own.
   *
   * @returns `undefined` when the database does not answer in time.
   */
  ask(question: Question): Promise<CountedWindow | undefined>;
}

/** What a teller works with. */
export interface TellerOptions {
  readonly counters: Pick<Counters, "add">;
  /** Milliseconds of a clock that is never set. */
  readonly now: () => number;
  readonly schedule: Schedule;
  /** How long a caller waits, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** Told when the database failed; it is asked again. */
  readonly onError: (error: unknown) => void;
}

interface Asked extends Question {
  readonly answer: (window: CountedWindow | undefined) => void;
}

/**
 * Asks the counters one statement at a time, in which everything goes along that was asked meanwhile. As
 * soon as one lasts too long, callers wait no more, and only one question at a time still goes out, until
 * one is answered.
 */
export function createTeller(options: TellerOptions): Teller {
  const { counters, now, schedule, patienceMs = PATIENCE_MS, onError } = options;
  let waiting: Asked[] = [];
  let isFlying = false;
  let isSilent = false;
  let restsUntil = Number.NEGATIVE_INFINITY;

  const giveUp = (batch: readonly Asked[]): void => {
    isSilent = true;
    for (const { answer } of [...batch, ...waiting]) answer(undefined);
  };
  const carry = async (batch: readonly Asked[]): Promise<void> => {
    const cancel = schedule(() => giveUp(batch), patienceMs);
    const askedAt = now();
    try {
      const totals = await counters.add(merged(batch));
      isSilent = false;
      distribute(batch, totals, askedAt);
    } catch (error) {
      giveUp(batch);
      waiting = [];
      restsUntil = now() + REST_MS;
      onError(error);
    } finally {
      cancel();
    }
  };
  const fly = async (): Promise<void> => {
    isFlying = true;
    // What is asked in the same turn goes along.
    await undefined;
    while (waiting.length > 0) await carry(waiting.splice(0, MAX_BATCH));
    isFlying = false;
  };
  return {
    ask(question) {
      if (isSilent && (isFlying || now() < restsUntil)) return Promise.resolve(undefined);
      const { promise, resolve: answer } = Promise.withResolvers<CountedWindow | undefined>();
      waiting.push({ ...question, answer });
      if (!isFlying) void fly();
      return isSilent ? Promise.resolve(undefined) : promise;
    },
  };
}

/** One addition for each window. */
function merged(batch: readonly Asked[]): readonly Addition[] {
  const byName = Map.groupBy(batch, ({ name }) => name);
  return [...byName].map(([name, [first, ...others]]) => ({
    name,
    points: sumOf(others) + (first?.points ?? 0),
    windowMs: first?.windowMs ?? 0,
  }));
}

const sumOf = (batch: readonly Asked[]): number =>
  batch.reduce((sum, { points }) => sum + points, 0);

/** Tells everybody of the points up to their own. @param totals In the order of `merged`. */
function distribute(
  batch: readonly Asked[],
  totals: readonly CountedWindow[],
  askedAt: number,
): void {
  const groups = [...Map.groupBy(batch, ({ name }) => name).values()];
  for (const [at, group] of groups.entries()) {
    const total = totals[at];
    if (total === undefined) continue;
    let points = total.points - sumOf(group);
    for (const asked of group) {
      points += asked.points;
      const window = { points, leftMs: total.leftMs };
      asked.learn(window, askedAt);
      asked.answer(window);
    }
  }
}
