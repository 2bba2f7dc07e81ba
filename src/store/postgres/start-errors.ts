import { Problem } from "../../problem.ts";
import type { Target } from "./target.ts";

/**
 * Does what a start or a command needs of a database.
 *
 * @throws {Error} That an operator can act on, in place of `store_unavailable`; other errors stay.
 */
export async function explained<T>({ name }: Target, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const why = reasonOf(error.cause);
    const advice = "Check DATABASE_URL, the rights of its user, and that the server runs.";
    throw new Error(`${name} cannot be used: ${why}. ${advice}`);
  }
}

/** The message of an error; that of a host with several addresses has its own in a list. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return reasonOf(error.errors[0]);
  return error instanceof Error ? error.message : "it does not answer";
}
