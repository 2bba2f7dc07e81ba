import { accountClientGroup, accountRecordsGroup, clientGroup } from "../../auth/agents/agent.ts";
import type { Caller } from "../../auth/caller.ts";
import { apiKeyGroup } from "../../auth/keys/api-keys.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { Problem } from "../../problem.ts";
import { announce, removeAt, removeGroup } from "../../store/port/operations.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  accountAlertsGroup,
  alertGroup,
  alerts,
  isOwnedBy,
  type Owner,
  type OwnerIdentity,
  ownerGroup,
  type StoredAlert,
} from "../alert.ts";

/** Number of random base62 characters in an alert id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^alert_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** Generates an alert id. */
export const newAlertId = (): string => `alert_${randomBase62(ID_LENGTH)}`;

/** The owner under which the alerts of a caller are registered. */
export const ownerOf = ({ kind, id, accountId, clientId }: Caller): Owner => ({
  kind,
  id,
  accountId,
  ...(kind === "user" && clientId !== undefined && { clientId }),
});

/**
 * Groups of the records of an owner: the owner's group, the account's group, and the groups whose
 * removal deletes the records.
 */
export function groupsOfOwner(owner: Owner): readonly string[] {
  const { accountId } = owner;
  const answering = accountId === undefined ? [] : [accountAlertsGroup(accountId)];
  return [ownerGroup(owner), ...answering, ...lifetimeGroups(owner)];
}

/** Groups of an alert and of the records that are deleted with it. */
export const groupsOfAlert = (alertId: string, owner: Owner): readonly string[] => [
  alertGroup(alertId),
  ...groupsOfOwner(owner),
];

/**
 * Groups whose removal deletes an owner's records: the group of the agent, of the person and the
 * OAuth client, or of the API key and its account.
 */
function lifetimeGroups({ kind, id, accountId, clientId }: Owner): readonly string[] {
  switch (kind) {
    case "agent":
      return [clientGroup(id)];
    case "user":
      return [
        accountRecordsGroup(id),
        ...(clientId === undefined
          ? []
          : [clientGroup(clientId), accountClientGroup(id, clientId)]),
      ];
    case "service":
      return [
        apiKeyGroup(id),
        ...(accountId === undefined ? [] : [accountRecordsGroup(accountId)]),
      ];
  }
}

/** Dependencies of looking up alerts. */
interface AlertStore {
  readonly records: Records;
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
 * cannot probe for ids.
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
 * The account whose alerts the caller may all read and remove: that of the person whose API key the
 * caller uses; `undefined` for other callers.
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

/** The operations that remove an alert with all records that belong to it. */
export const alertRemoval = (alert: StoredAlert): readonly Operation[] => [
  removeAt(alerts, alert),
  removeGroup(alertGroup(alert.key)),
  announce(ALERTS_TOPIC, alert.key),
];
