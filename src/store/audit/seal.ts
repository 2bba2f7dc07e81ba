import { append, insert, removeAt, replace } from "../port/operations.ts";
import type { Records } from "../port/records.ts";
import { CHAIN_START, chainPoints, HEAD, pointOf, sealed } from "./chain.ts";
import { unsealedAudit } from "./entry.ts";

/** Rows that are chained in one commit. */
const BATCH = 500;

/**
 * Chains the oldest of the audit rows that wait and puts them into the archive, in one commit with
 * the end of the chain. When another process has moved that meanwhile, the commit does not hold and
 * the rows wait for the next call: so a crash anywhere, or a second sealer, neither loses nor
 * doubles a row nor forks the chain.
 *
 * @param now Milliseconds since the epoch.
 * @returns How many rows were waiting, at most 500.
 */
export async function sealAudit(records: Records, now: () => number): Promise<number> {
  const waiting = await records.list(unsealedAudit, { limit: BATCH });
  if (waiting.length === 0) return 0;
  const head = await records.get(chainPoints, HEAD);
  let end = head?.value ?? CHAIN_START;
  const moved = waiting.flatMap((stored) => {
    const row = sealed(stored.value, end, now());
    end = pointOf(row);
    return [append(row), removeAt(unsealedAudit, stored)];
  });
  const noted = head
    ? replace(chainPoints, head, { value: end })
    : insert(chainPoints, { key: HEAD, value: end });
  await records.commit([noted, ...moved]);
  return waiting.length;
}
