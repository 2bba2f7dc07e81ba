import type { Scope } from "../../access/scopes.ts";
import { isEntitledToEvents } from "../../auth/entitlement.ts";
import type { RecordReader } from "../../store/port/records.ts";
import type { Change } from "../../store/transact.ts";
import { type AlertOwner, alerts, type StoredAlert } from "../alert.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  isUnchanged,
  moveToCurrentTarget,
  type StorableAlert,
  type StoredDelivery,
} from "./delivery.ts";

/** An alert whose owner may receive events now. */
export interface EntitledAlert extends StoredAlert {
  /** The scopes that the owner currently has. */
  readonly scopes: ReadonlySet<Scope>;
}

/** Where alerts and the scopes of their owners are read. */
export interface EntitlementOptions {
  readonly records: RecordReader;
  /** The scopes that an owner currently has. */
  readonly scopesOf: (owner: AlertOwner) => Promise<ReadonlySet<Scope>>;
}

/** Finds an alert by id, if its owner may receive events now. */
export async function findEntitledAlert(
  alertId: string,
  { records, scopesOf }: EntitlementOptions,
): Promise<EntitledAlert | undefined> {
  const alert = await records.get(alerts, alertId);
  if (alert === undefined) return undefined;
  const scopes = await scopesOf(alert.value.owner);
  return isEntitledToEvents(scopes) ? { ...alert, scopes } : undefined;
}

/** Whether an alert still sends to the webhook or channel for which a message was queued. */
export const isQueuedFor = (
  { value: { channelId } }: StoredDelivery,
  { value: { way } }: StorableAlert,
): boolean => (way.by === "channel" ? way.channelId : undefined) === channelId && way.by !== "poll";

/**
 * Moves a message that may no longer be sent where it was queued to the current queue of its alert,
 * outside any digest; it is held back there while the alert is paused. The message is deleted if
 * `alert` is `undefined`, or has no webhook or channel.
 */
export const requeueOrDelete =
  (delivery: StoredDelivery, alert: StorableAlert | undefined): Change =>
  async (tx) => {
    if (!(await isUnchanged(tx, deliveries, delivery))) return;
    if (alert === undefined) tx.remove(deliveries, delivery.key);
    else moveToCurrentTarget(tx, delivery, alert);
    tx.announce(DELIVERIES_TOPIC);
  };
