import { storeUnavailableProblem } from "../port/unavailable.ts";
import type { Connection } from "./connection.ts";
import { runStatement } from "./connection.ts";

/**
 * Share of the remaining time within which the server must start the work. If the server starts
 * later, it rejects the work.
 */
const BEGIN_SHARE = 0.8;

/**
 * Share of the remaining time within which the server must finish the work. If the server is later,
 * it rolls the work back. Rejected work therefore never takes effect later, unless the server hangs
 * at the very end of the transaction.
 */
const FINISH_SHARE = 0.95;

/** Additional time for large work, in milliseconds per operation or row. */
const MS_PER_PART = 0.2;

/** A request to do work exactly once. */
interface OnceRequest {
  /** UUID that identifies the work, so that a repeated request does not repeat the work. */
  readonly id: string;
  /**
   * What to do. `cancel` prevents the work with this id from being done later. If the work was
   * already done, `cancel` returns its result; otherwise, `cancel` returns `given`.
   */
  readonly work: "commit" | "append" | "cancel";
  /** Input of the work, as JSON. */
  readonly given: string;
  /** Number of operations or rows in the input. */
  readonly parts: number;
}

/**
 * Does work in the database exactly once before a deadline, or never. Retries until there is an
 * answer.
 *
 * @returns The result of the SQL function for this work; `null` if it changed nothing.
 * @throws {Problem} `store_unavailable`.
 */
export type RunOnce = <T>(request: OnceRequest) => Promise<T | null>;

/** Dependencies of `createRunOnce`. */
interface RunOnceOptions {
  /** Overrides the database's clock as the time of the work, in milliseconds since the epoch. */
  readonly now: (() => number) | undefined;
  /**
   * The epoch of the store, which changes with each load. If another process has replaced the store
   * since the epoch was read, the work is rejected, and later work applies to the new store.
   */
  readonly epoch: { current: string };
}

interface Answered {
  /** Current time by the database server's clock, in milliseconds since the epoch. */
  readonly clock: number;
  /** With `late` and `replaced`, nothing was done. */
  readonly outcome: "done" | "late" | "replaced";
  readonly answer: unknown;
  /** The current epoch, if the outcome is `replaced`. */
  readonly epoch: string | null;
}

/**
 * Creates the function that does work once. Deadlines are instants of the server's clock, which is
 * estimated from its last answer. If that clock was set in the meantime, the server rejects the
 * work as late, and the work is requested again.
 */
export function createRunOnce(connection: Connection, { now, epoch }: RunOnceOptions): RunOnce {
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
    throw storeUnavailableProblem("The store was replaced by a copy.");
  };
}
