import { ownerExists, quotaOwner } from "../../auth/entitlement.ts";
import type { RecordReader, Stored } from "../../store/port/records.ts";
import { type AlertOwner, ownerKey } from "../alert.ts";

/**
 * Maximum share of an account's quota that one application (an OAuth client of the person),
 * together with the agents that it claimed, may use.
 */
const APPLICATION_SHARE = 1 / 2;

/** A record that counts toward the quota of its owner's account. */
type OwnedRecord = Stored<{ readonly owner: AlertOwner }>;

/**
 * Whether an application, together with the agents that it claimed, has used up its share of the
 * account's quota. Always `false` for an owner that is not an application, because such an owner
 * may use the whole quota.
 *
 * @param existing The records that count toward the quota.
 * @param total The whole quota, as a number of records.
 */
type IsQuotaShareUsedUp = (existing: readonly OwnedRecord[], total: number) => boolean;

/**
 * Determines which of the existing records count toward the share of the owner's application, and
 * returns the check that compares them with the share.
 */
export async function createQuotaShareCheck(
  records: RecordReader,
  owner: AlertOwner,
  existing: readonly OwnedRecord[],
): Promise<IsQuotaShareUsedUp> {
  const application = await quotaOwner(records, owner);
  if (application.kind !== "user" || application.clientId === undefined) return () => false;
  const key = ownerKey(application);
  const owners = new Map(existing.map(({ value }) => [ownerKey(value.owner), value.owner]));
  const found = [...owners].map(async ([own, each]) =>
    ownerKey(await quotaOwner(records, each)) === key ? [own] : [],
  );
  const members = (await Promise.all(found)).flat();
  return (counted, total) => {
    const own = counted.filter(({ value }) => members.includes(ownerKey(value.owner)));
    return own.length >= total * APPLICATION_SHARE;
  };
}

/**
 * The records whose owner, an agent or an API key, has expired. Expiry of the owner does not remove
 * its records.
 */
export async function recordsWithoutOwner<T extends OwnedRecord>(
  records: RecordReader,
  existing: readonly T[],
): Promise<readonly T[]> {
  const known = new Map(existing.map(({ value: { owner } }) => [ownerKey(owner), owner]));
  const found = [...known].map(async ([maker, owner]) =>
    (await ownerExists(records, owner)) ? [] : [maker],
  );
  const gone = (await Promise.all(found)).flat();
  return existing.filter(({ value }) => gone.includes(ownerKey(value.owner)));
}
