import { randomUUID } from "node:crypto";
import { ask } from "./ask.ts";
import type { Connection } from "./connection.ts";

/** Part of the time left in which the server must begin with a work. What it has not begun by then
 *  it never does, so that nothing is done later that was refused by then. */
const BEGIN_SHARE = 0.8;

/**
 * Does work in the database once, in time, or never: asks until it is answered, always under the
 * same id.
 *
 * @param given JSON.
 * @returns What the function of that name returns; `null` when it changed nothing.
 * @throws {Problem} `store_unavailable`.
 */
export type Once = <T>(work: "commit" | "append", given: string) => Promise<T | null>;

interface Row {
  readonly answered: {
    /** Milliseconds since the epoch, by the server's clock. */
    readonly clock: number;
    /** Nothing was done, since the deadline was over. */
    readonly isLate: boolean;
    readonly answer: unknown;
  };
}

/**
 * The server's clock, as it was with the last answer, tells when by that clock the time of a work
 * is over. When that clock was set since, the work is refused as late and asked for again.
 *
 * @param now Takes the place of the database's clock in what the work does.
 */
export function createOnce(connection: Connection, now: (() => number) | undefined): Once {
  let known = { clock: 0, at: performance.now() };
  const text = "select market_signal.once($1, $2, $3, $4, $5) as answered";
  return <T>(work: string, given: string) => {
    const id = randomUUID();
    return connection.run(async (client, budgetMs): Promise<T | null> => {
      const end = performance.now() + budgetMs;
      for (let leftMs = budgetMs; leftMs > 0; leftMs = Math.round(end - performance.now())) {
        const sinceMs = performance.now() - known.at;
        const deadline = Math.floor(known.clock + sinceMs + leftMs * BEGIN_SHARE);
        const values = [id, work, given, now?.(), deadline];
        const { rows } = await ask<Row>(client, { name: "once", text, values }, leftMs);
        const [row] = rows as [Row];
        known = { clock: row.answered.clock, at: performance.now() };
        if (!row.answered.isLate) return row.answered.answer as T | null;
      }
      throw new Error("The time was over before the server began.");
    });
  };
}
