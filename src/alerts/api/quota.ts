import { alertScopes } from "../../access/scopes.ts";
import { currentScopesOf, isEntitledToEvents } from "../../auth/entitlement.ts";
import { Problem } from "../../lib/problem.ts";
import type { RecordReader } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import { type Alert, alerts, type DeliveryMethod, quotaGroup, type StoredAlert } from "../alert.ts";
import type { StorableAlert } from "../delivery/delivery.ts";
import { deleteAlert } from "./ownership.ts";
import { createQuotaShareCheck, recordsWithoutOwner } from "./quota-share.ts";

/**
 * Maximum number of alerts, and of alerts with a webhook, for one account including its agents and
 * API keys, or for one caller without an account.
 */
const MAX_ALERTS = 100;
const MAX_WEBHOOKS = 20;

/**
 * Requires that an alert can be registered within the owner's quota. Alerts whose owner has expired
 * make room.
 *
 * @throws {Problem} `alert_limit` when the quota is used up; `insufficient_scope` when the owner
 * may no longer have alerts.
 */
export async function requireAlertQuota(
  tx: Transaction,
  { value: { owner, way } }: StorableAlert,
): Promise<void> {
  const own = await tx.list(alerts, { group: quotaGroup(owner), limit: MAX_ALERTS });
  const excessIn = async (existing: readonly StoredAlert[]): Promise<string | undefined> =>
    excessOfAccount(existing, way) ?? (await excessOfApplication(tx, existing, { owner, way }));
  const orphans = (await excessIn(own)) === undefined ? [] : await recordsWithoutOwner(tx, own);
  const excess = await excessIn(own.filter((alert) => !orphans.includes(alert)));
  if (excess !== undefined) throw alertLimitProblem(excess);
  if (!isEntitledToEvents(await currentScopesOf(tx, owner))) throw ownerEndedProblem();
  for (const orphan of orphans) deleteAlert(tx, orphan.key);
}

/**
 * Describes the account quota that one more alert would exceed; `undefined` if one more alert is
 * allowed.
 */
function excessOfAccount(existing: readonly StoredAlert[], way: DeliveryMethod) {
  if (existing.length >= MAX_ALERTS) return `${MAX_ALERTS} alerts with all your agents and keys`;
  const isOver = way.by === "webhook" && existing.filter(hasWebhook).length >= MAX_WEBHOOKS;
  return isOver ? `${MAX_WEBHOOKS} webhooks with all your agents and keys` : undefined;
}

/**
 * Describes the quota share that one more alert of an application or its agents would exceed;
 * `undefined` if one more alert is allowed.
 */
async function excessOfApplication(
  records: RecordReader,
  existing: readonly StoredAlert[],
  { owner, way }: Pick<Alert, "owner" | "way">,
): Promise<string | undefined> {
  const isUsedUp = await createQuotaShareCheck(records, owner, existing);
  const rest = "of your account, with the agents that you claimed";
  if (isUsedUp(existing, MAX_ALERTS)) return `your share of the ${MAX_ALERTS} alerts ${rest}`;
  return way.by === "webhook" && isUsedUp(existing.filter(hasWebhook), MAX_WEBHOOKS)
    ? `your share of the ${MAX_WEBHOOKS} webhooks ${rest}`
    : undefined;
}

const hasWebhook = ({ value }: StoredAlert): boolean => value.way.by === "webhook";

const alertLimitProblem = (what: string): Problem =>
  new Problem("alert_limit", {
    detail: `You have ${what}, which is the maximum.`,
    next: "Delete one with manage_alert, or add symbols to one that you have.",
  });

const ownerEndedProblem = (): Problem =>
  new Problem("insufficient_scope", {
    detail: "You may not have alerts any more.",
    next: `Get a token with the scopes ${alertScopes.join(" ")}.`,
  });
