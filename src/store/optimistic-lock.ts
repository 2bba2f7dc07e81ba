import { insert, replace } from "./port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "./port/records.ts";

/** One record per cap, replaced by every commit that adds to what the cap counts, so that of two
 *  concurrent ones the second does not hold and counts again. */
const turns = collection<object>("auth-turns");

/** Life of a turn in milliseconds: longer than any request takes from its count to its commit. */
const TURN_MS = 3_600_000;

/** What a cap counts. */
export interface CapScope {
  readonly key: string;
  /** Groups with which what is counted is deleted. */
  readonly groups: readonly string[];
}

/** Reads the turn of a cap, to be called before counting. */
export function readTurn(
  records: Pick<Records, "get">,
  { key }: CapScope,
): Promise<Stored<object> | undefined> {
  return records.get(turns, key);
}

/** The operation that holds only while nobody else has taken the turn since it was read. */
export function takeTurn({ key, groups }: CapScope, turn: Stored<object> | undefined): Operation {
  const written = { value: {}, ttlMs: TURN_MS };
  return turn === undefined
    ? insert(turns, { key, groups, ...written })
    : replace(turns, turn, written);
}
