import { accountClientGroup, accountRecordsGroup, clientGroup } from "../../auth/agents/agent.ts";
import type { Caller } from "../../auth/caller.ts";
import { apiKeyGroup } from "../../auth/keys/api-keys.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { Problem } from "../../problem.ts";
import { announce, removeAt, removeGroup } from "../../store/port/operations.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  accountGroup,
  alertGroup,
  alerts,
  isOwnedBy,
  type Owner,
  type OwnerIdentity,
  ownerGroup,
  type StoredAlert,
} from "../alert.ts";

/** Number of random characters in an id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^alert_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** A new id of an alert. */
export const newAlertId = (): string => `alert_${randomBase62(ID_LENGTH)}`;

/** The owner of the alerts that a caller registers. */
export const ownerOf = ({ kind, id, accountId, clientId }: Caller): Owner => ({
  kind,
  id,
  accountId,
  ...(kind === "user" && clientId !== undefined && { clientId }),
});

/** Groups of the records of an owner: its own, its account's, and those with which they are deleted. */
export function groupsOfOwner(owner: Owner): readonly string[] {
  const { accountId } = owner;
  const answering = accountId === undefined ? [] : [accountGroup(accountId)];
  return [ownerGroup(owner), ...answering, ...lifetimeGroups(owner)];
}

/** Groups of an alert. */
export const groupsOfAlert = (alertId: string, owner: Owner): readonly string[] => [
  alertGroup(alertId),
  ...groupsOfOwner(owner),
];

/** Groups whose removal deletes the records: the agent's, the person's and client's, or the API key's
 *  and its account's. */
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

/** Where alerts are stored. */
interface AlertStore {
  readonly records: Records;
}

/** The alert with an id; `undefined` when there is none. */
export async function findAlert(
  { records }: AlertStore,
  alertId: string,
): Promise<StoredAlert | undefined> {
  return ID.test(alertId) ? records.get(alerts, alertId) : undefined;
}

/**
 * An alert that the caller registered.
 *
 * @throws {Problem} `not_found`, also when another caller registered it: ids of others are not revealed.
 */
export async function requireOwnAlert(
  from: AlertStore,
  caller: OwnerIdentity,
  alertId: string,
): Promise<StoredAlert> {
  return requireAllowed(await findAlert(from, alertId), ({ value }) =>
    isOwnedBy(value.owner, caller),
  );
}

/**
 * An alert that the caller may read and remove: its own and, with an API key of a person, any of the
 * person's account.
 *
 * @throws {Problem} `not_found`, as `requireOwnAlert` does.
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
      (account !== undefined && groups.includes(accountGroup(account))),
  );
}

/**
 * The account of which a caller may read and remove every alert: that of the person whose API key
 * it uses.
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

/** The steps that remove an alert with everything that belongs to it. */
export const alertRemoval = (alert: StoredAlert): readonly Operation[] => [
  removeAt(alerts, alert),
  removeGroup(alertGroup(alert.key)),
  announce(ALERTS_TOPIC, alert.key),
];
