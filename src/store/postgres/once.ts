import { storeUnavailable } from "../port/unavailable.ts";
import type { Connection } from "./connection.ts";
import { runStatement } from "./connection.ts";

/** Share of the remaining time within which the server must start the work; afterwards it rejects
 *  the work. */
const BEGIN_SHARE = 0.8;

/**
 * Share of the remaining time within which the server must finish the work; afterwards it rolls the
 * work back. Rejected work therefore never takes effect later, unless the server hangs at the very
 * end of the transaction.
 */
const FINISH_SHARE = 0.95;

/** Additional time for large work, in milliseconds per operation or row. */
const MS_PER_PART = 0.2;

/** Work to be done once. */
interface OnceRequest {
  /** A UUID that makes the work idempotent. */
  readonly id: string;
  /**
   * `cancel`: prevents the work of that id from now on; returns its result if it was done, else
   * `given`.
   */
  readonly work: "commit" | "append" | "cancel";
  /** Input of the work, as JSON. */
  readonly given: string;
  /** Number of operations or rows. */
  readonly parts: number;
}

/**
 * Does work in the database exactly once, before a deadline, or never, retrying until answered.
 *
 * @returns The result of the function of that name; `null` if it changed nothing.
 * @throws {Problem} `store_unavailable`.
 */
export type Once = <T>(request: OnceRequest) => Promise<T | null>;

/** Dependencies of `once`. */
export interface OnceOptions {
  /** Overrides the database's clock for the work. */
  readonly now: (() => number) | undefined;
  /**
   * The epoch of the store, which each load changes. Work requested before another process replaced the
   * store is rejected; the next applies to the new store.
   */
  readonly epoch: { current: string };
}

interface Answered {
  /** Milliseconds since the epoch, by the server's clock. */
  readonly clock: number;
  /** `late` and `replaced`: nothing was done. */
  readonly outcome: "done" | "late" | "replaced";
  readonly answer: unknown;
  /** The present epoch; with `replaced`. */
  readonly epoch: string | null;
}

/**
 * Deadlines are computed by the server's clock, as of its last answer. If that clock was set since, the
 * work is rejected as late and requested again.
 */
export function createOnce(connection: Connection, { now, epoch }: OnceOptions): Once {
  let known = { clock: 0, at: performance.now() };
  const text = "select market_signal.once($1, $2, $3, $4, $5, $6, $7) as answered";
  return async <T>({ id, work, given, parts }: OnceRequest) => {
    const expected = epoch.current;
    const answered = await connection.run(async (client, budgetMs): Promise<Answered> => {
      const end = performance.now() + budgetMs;
      for (let leftMs = budgetMs; leftMs > 0; leftMs = Math.round(end - performance.now())) {
        const clock = known.clock + performance.now() - known.at;
        const times = [BEGIN_SHARE, FINISH_SHARE].map((share) =>
          Math.floor(clock + leftMs * share),
        );
        const values = [id, work, given, now?.(), ...times, expected];
        const { rows } = await runStatement<{ answered: Answered }>(
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
