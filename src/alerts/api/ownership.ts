import type { Caller } from "../../access/caller.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { Problem } from "../../lib/problem.ts";
import type { RecordReader } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type AlertOwner,
  accountAlertsGroup,
  alertGroup,
  alerts,
  isOwnedBy,
  type OwnerIdentity,
  type StoredAlert,
} from "../alert.ts";

/** Number of random base62 characters in an alert id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^alert_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** Generates an alert id. */
export const newAlertId = (): string => `alert_${randomBase62(ID_LENGTH)}`;

/** The owner under which the alerts of a caller are registered. */
export const ownerOf = ({ kind, id, accountId, clientId }: Caller): AlertOwner => ({
  kind,
  id,
  accountId,
  ...(kind === "user" && clientId !== undefined && { clientId }),
});

/** Dependencies of the functions that look up alerts. */
interface AlertStore {
  readonly records: RecordReader;
}

/** Finds an alert by id; `undefined` when it does not exist. */
export async function findAlert(
  { records }: AlertStore,
  alertId: string,
): Promise<StoredAlert | undefined> {
  return ID.test(alertId) ? records.get(alerts, alertId) : undefined;
}

/**
 * Finds an alert that the caller registered.
 *
 * @throws {Problem} `not_found`, also when another caller registered the alert, so that callers
 * cannot find ids by guessing.
 */
export async function requireOwnedAlert(
  from: AlertStore,
  caller: OwnerIdentity,
  alertId: string,
): Promise<StoredAlert> {
  return requireAllowed(await findAlert(from, alertId), ({ value }) =>
    isOwnedBy(value.owner, caller),
  );
}

/**
 * Finds an alert that the caller may read and remove: one that the caller registered or, if the
 * caller uses a person's API key, any alert of the person's account.
 *
 * @throws {Problem} `not_found`, as `requireOwnedAlert` does.
 */
export async function requireManageableAlert(
  from: AlertStore,
  caller: Caller,
  alertId: string,
): Promise<StoredAlert> {
  const account = managedAccountOf(caller);
  return requireAllowed(
    await findAlert(from, alertId),
    ({ value, groups }) =>
      isOwnedBy(value.owner, caller) ||
      (account !== undefined && groups.includes(accountAlertsGroup(account))),
  );
}

/**
 * The account of the person whose API key the caller uses. Such a caller may read and remove all
 * alerts of the account. `undefined` for other callers.
 */
export const managedAccountOf = ({ kind, accountId }: Caller): string | undefined =>
  kind === "service" ? accountId : undefined;

function requireAllowed(
  alert: StoredAlert | undefined,
  isAllowed: (alert: StoredAlert) => boolean,
): StoredAlert {
  if (alert !== undefined && isAllowed(alert)) return alert;
  throw new Problem("not_found", {
    detail: "You made no alert of that id.",
    next: "list_alerts (GET /api/alerts) names those that you made.",
  });
}

/** Deletes an alert with all records that belong to it. */
export function deleteAlert(tx: Transaction, alertId: string): void {
  tx.remove(alerts, alertId);
  tx.removeGroup(alertGroup(alertId));
  tx.announce(ALERTS_TOPIC, alertId);
}
