import { ownerExists, quotaOwner } from "../../auth/entitlement.ts";
import { shareOf } from "../../limits/share.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { type Owner, ownerKey } from "../alert.ts";

/** Maximum share of an account's quota for one application, with the agents that it claimed, while
 *  the rest of the account uses nothing. It shrinks as others use more (`shareOf`). */
const APPLICATION_SHARE = 1 / 2;

/** A record that counts towards the quota of its owner's account. */
type Owned = Stored<{ readonly owner: Owner }>;

/**
 * Whether an application has used up its share of its owner's quota, together with the agents that
 * it claimed. Always `false` for owners that are not applications, since their share is the whole
 * quota.
 *
 * @param existing The records that count towards the quota.
 */
export type IsShareUsedUp = (existing: readonly Owned[], total: number) => boolean;

/** Finds which of some records count towards the share of an owner's application. */
export async function shareCheckFor(
  records: Records,
  owner: Owner,
  existing: readonly Owned[],
): Promise<IsShareUsedUp> {
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
    const left = total - counted.length;
    return own.length >= shareOf({ total, most: total * APPLICATION_SHARE }, left);
  };
}

/**
 * The records whose owner, an agent or a key, has expired; they are not removed when it expires.
 */
export async function recordsWithoutOwner<T extends Owned>(
  records: Records,
  existing: readonly T[],
): Promise<readonly T[]> {
  const known = new Map(existing.map(({ value: { owner } }) => [ownerKey(owner), owner]));
  const found = [...known].map(async ([maker, owner]) =>
    (await ownerExists(records, owner)) ? [] : [maker],
  );
  const gone = (await Promise.all(found)).flat();
  return existing.filter(({ value }) => gone.includes(ownerKey(value.owner)));
}
