import { belongingTo, issuedTo, through } from "../auth/agents/agent.ts";
import type { Caller } from "../auth/caller.ts";
import { ofKey } from "../auth/keys/api-keys.ts";
import { randomBase62 } from "../auth/keys/base62.ts";
import { Problem } from "../problem.ts";
import type { Records } from "../store/records.ts";
import { alerts, answeredForBy, type Owner, ofAlert, ownedBy, type StoredAlert } from "./alert.ts";

/** Random characters of an id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^alert_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** A new id of an alert. */
export const newAlertId = (): string => `alert_${randomBase62(ID_LENGTH)}`;

/** Whose the alerts are that a caller makes. A person finds theirs with every client, and each goes
 *  with the client that made it. */
export const ownerOf = ({ kind, id, accountId, clientId }: Caller): Owner => ({
  ...{ kind, id, accountId },
  ...(kind === "user" && clientId !== undefined && { clientId }),
});

/** Groups of everything that a caller has because of alerts, and with which it goes. */
export function groupsOf(owner: Owner): readonly string[] {
  const { accountId } = owner;
  const answering = accountId === undefined ? [] : [answeredForBy(accountId)];
  return [ownedBy(owner), ...answering, ...endingWith(owner)];
}

/** Groups of an alert. */
export const groupsOfAlert = (alertId: string, owner: Owner): readonly string[] => [
  ofAlert(alertId),
  ...groupsOf(owner),
];

/** A person's key goes with the key and, where the key goes with the account, with that. */
function endingWith({ kind, id, accountId, clientId }: Owner): readonly string[] {
  switch (kind) {
    case "agent":
      return [issuedTo(id)];
    case "user":
      return [
        belongingTo(id),
        ...(clientId === undefined ? [] : [issuedTo(clientId), through(id, clientId)]),
      ];
    case "service":
      return [ofKey(id), ...(accountId === undefined ? [] : [belongingTo(accountId)])];
  }
}

/** Where alerts are kept. */
interface Kept {
  readonly records: Pick<Records, "get">;
}

/** An alert if there is one of that id. */
export async function alertBy(
  { records }: Kept,
  alertId: string,
): Promise<StoredAlert | undefined> {
  return ID.test(alertId) ? records.get(alerts, alertId) : undefined;
}

/**
 * An alert of the caller.
 *
 * @throws {Problem} `not_found` when it is another's too: nobody learns which there are.
 */
export async function ownAlert(
  from: Kept,
  { kind, id }: Pick<Caller, "kind" | "id">,
  alertId: string,
): Promise<StoredAlert> {
  const alert = await alertBy(from, alertId);
  const owner = alert?.value.owner;
  if (alert !== undefined && owner?.kind === kind && owner.id === id) return alert;
  throw new Problem("not_found", {
    detail: "You have no alert of that id.",
    next: "list_alerts (GET /api/alerts) names those that you have.",
  });
}
