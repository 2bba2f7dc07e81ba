import { entitlementChecks, ownerExists } from "../../auth/entitlement.ts";
import { alertScopes } from "../../auth/scopes.ts";
import { Problem } from "../../problem.ts";
import { incrementVersion, readVersion } from "../../store/optimistic-lock.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { alerts, ownerKey, quotaGroup, type StoredAlert } from "../alert.ts";
import type { AlertTarget } from "../delivery/delivery.ts";
import { alertRemoval, groupsOfOwner } from "./ownership.ts";

/** Alerts, and webhooks among them, of one account with all its agents and keys, or of a caller without
 *  an account. */
const MAX_ALERTS = 100;
const MAX_WEBHOOKS = 20;

/**
 * The operations with which a commit registers an alert only while the quota of its owner has room.
 * They do not hold when another registration was faster.
 *
 * @throws {Problem} `alert_limit` when the quota is used up; `insufficient_scope` when the owner may no
 *   longer have alerts.
 */
export async function reserveQuota(
  records: Pick<Records, "get" | "list">,
  { value: { owner, way } }: AlertTarget,
): Promise<readonly Operation[]> {
  const key = quotaGroup(owner);
  const lock = { key: `alerts ${key}`, groups: groupsOfOwner(owner) };
  const version = await readVersion(records, lock);
  const own = await records.list(alerts, { group: key, limit: MAX_ALERTS });
  const isFull = (existing: readonly StoredAlert[]): boolean =>
    excessIn(existing, way) !== undefined;
  const orphans = isFull(own) ? await orphansAmong(records, own) : [];
  const excess = excessIn(
    own.filter((alert) => !orphans.includes(alert)),
    way,
  );
  if (excess !== undefined) throw full(excess);
  const entitled = await entitlementChecks(records, owner);
  if (entitled === undefined) throw ended();
  return [...entitled, incrementVersion(lock, version), ...orphans.flatMap(alertRemoval)];
}

/** The quota that one more alert would exceed, in words; `undefined` when there is room. */
function excessIn(existing: readonly StoredAlert[], way: AlertTarget["value"]["way"]) {
  if (existing.length >= MAX_ALERTS) return `${MAX_ALERTS} alerts`;
  const isOver = way.by === "webhook" && existing.filter(hasWebhook).length >= MAX_WEBHOOKS;
  return isOver ? `${MAX_WEBHOOKS} webhooks` : undefined;
}

/** The alerts of expired agents and keys: nothing removes them at the expiry. */
async function orphansAmong(
  records: Pick<Records, "get" | "list">,
  own: readonly StoredAlert[],
): Promise<readonly StoredAlert[]> {
  const known = new Map(own.map(({ value: { owner } }) => [ownerKey(owner), owner]));
  const found = [...known].map(async ([maker, owner]) =>
    (await ownerExists(records, owner)) ? [] : [maker],
  );
  const gone = (await Promise.all(found)).flat();
  return own.filter(({ value }) => gone.includes(ownerKey(value.owner)));
}

const hasWebhook = ({ value }: StoredAlert): boolean => value.way.by === "webhook";

const full = (what: string): Problem =>
  new Problem("alert_limit", {
    detail: `You have ${what} with all your agents and keys, which is as many as you can have.`,
    next: "Delete one with manage_alert, or add symbols to one that you have.",
  });

const ended = (): Problem =>
  new Problem("insufficient_scope", {
    detail: "You may not have alerts any more.",
    next: `Get a token with the scopes ${alertScopes.join(" ")}.`,
  });
