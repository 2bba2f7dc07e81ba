import { storeUnavailable } from "../port/unavailable.ts";
import type { Connection } from "./connection.ts";
import { ask } from "./connection.ts";

/** Part of the time left in which the server must begin with a work. What it has not begun by then
 *  it never does. */
const BEGIN_SHARE = 0.8;

/** Part of the time left in which the server must end a work; what it has not ended by then it
 *  undoes. So nothing is done later that was refused, but for a server that hangs in the very end
 *  of the transaction. */
const FINISH_SHARE = 0.95;

/** How much longer large work may take, in milliseconds for each operation or row. */
const MS_PER_PART = 0.2;

/** A work. */
interface Asked {
  /** A UUID; under the same one nothing is done twice. */
  readonly id: string;
  /** `cancel`: the work of that id is not done from now on; answers what it did, else `given`. */
  readonly work: "commit" | "append" | "cancel";
  /** JSON. */
  readonly given: string;
  /** Operations or rows in it. */
  readonly parts: number;
}

/**
 * Does work in the database once, in time, or never: asks until it is answered.
 *
 * @returns What the function of that name returns; `null` when it changed nothing.
 * @throws {Problem} `store_unavailable`.
 */
export type Once = <T>(asked: Asked) => Promise<T | null>;

/** What work is done for. */
export interface OnceOptions {
  /** Takes the place of the database's clock in what the work does. */
  readonly now: (() => number) | undefined;
  /** The epoch of the store, which each load changes. Work that was asked for before another
   *  process replaced the store is refused, and the next is for the store that is there then. */
  readonly epoch: { current: string };
}

interface Answered {
  /** Milliseconds since the epoch, by the server's clock. */
  readonly clock: number;
  /** `late` and `replaced`: nothing was done. */
  readonly outcome: "done" | "late" | "replaced";
  readonly answer: unknown;
  /** The epoch of the store that is there; with `replaced`. */
  readonly epoch: string | null;
}

/**
 * The server's clock, as it was with the last answer, tells when by that clock the time of a work
 * is over. When that clock was set since, the work is refused as late and asked for again.
 */
export function createOnce(connection: Connection, { now, epoch }: OnceOptions): Once {
  let known = { clock: 0, at: performance.now() };
  const text = "select market_signal.once($1, $2, $3, $4, $5, $6, $7) as answered";
  return async <T>({ id, work, given, parts }: Asked) => {
    const expected = epoch.current;
    const answered = await connection.run(async (client, budgetMs): Promise<Answered> => {
      const end = performance.now() + budgetMs;
      for (let leftMs = budgetMs; leftMs > 0; leftMs = Math.round(end - performance.now())) {
        const clock = known.clock + performance.now() - known.at;
        const times = [BEGIN_SHARE, FINISH_SHARE].map((share) =>
          Math.floor(clock + leftMs * share),
        );
        const values = [id, work, given, now?.(), ...times, expected];
        const { rows } = await ask<{ answered: Answered }>(
          client,
          { name: "once", text, values },
          leftMs,
        );
        const [row] = rows as [{ answered: Answered }];
        known = { clock: row.answered.clock, at: performance.now() };
        if (row.answered.outcome !== "late") return row.answered;
      }
      throw new Error("The time was over before the server began.");
    }, parts * MS_PER_PART);
    if (answered.outcome !== "replaced") return answered.answer as T | null;
    epoch.current = answered.epoch ?? expected;
    throw storeUnavailable("The store was replaced by a copy.");
  };
}
