import { generateKeyPairSync, randomBytes } from "node:crypto";
import { type Alert, alerts, type Owner, type WebhookState } from "../../src/alerts/alert.ts";
import { groupsOfAlert, newAlertId } from "../../src/alerts/api/ownership.ts";
import {
  type AlertRecord,
  enqueueDelivery,
  newMessageId,
} from "../../src/alerts/delivery/delivery.ts";
import {
  createWebhookSender,
  type WebhookSender,
  type WebhookSenderOptions,
} from "../../src/alerts/delivery/sender.ts";
import { createFirstSecret, type PrivateKeyJwk } from "../../src/alerts/delivery/signing.ts";
import { createVault, type Vault } from "../../src/store/keys/vault.ts";
import { insert } from "../../src/store/port/operations.ts";
import type { Operation } from "../../src/store/port/records.ts";

/** Vault of the signing secrets of one test file. */
export const vault: Vault = createVault(randomBytes(32));

/** A signing key of the service. */
export const newKey = (): PrivateKeyJwk =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }) as PrivateKeyJwk;

/** Default owner of alerts. */
export const OWNER: Owner = { kind: "agent", id: "agent-1", accountId: undefined };

/** An alert with a webhook, as the alert service would register it. */
export interface WebhookAlert extends AlertRecord {
  /** Signing secret of its deliveries. */
  readonly secret: string;
}

/** Options of an alert in a test. */
export interface WebhookAlertOptions {
  readonly url: string;
  readonly owner?: Owner;
  /** Default: active. */
  readonly state?: WebhookState;
  readonly isPaused?: boolean;
  /** Default: that of the test file. */
  readonly vault?: Vault;
}

/** Makes up an alert. */
export function webhookAlert(options: WebhookAlertOptions): WebhookAlert {
  const { url, owner = OWNER, isPaused = false } = options;
  const { state = { is: "active", since: 0 } } = options;
  const key = newAlertId();
  const { secret, sealed: secrets } = createFirstSecret({
    alertId: key,
    vault: options.vault ?? vault,
  });
  const value: Alert = {
    ...{ owner, label: "test", kinds: ["signal_shift"], isPaused },
    watched: { by: "symbols", symbols: ["AAPL"] },
    thresholds: { scoreMove: 15, volatilityZ: 2, cooldownDays: null },
    way: { by: "webhook", url, secrets, state },
    ...{ createdAt: 0, expiresAt: null, snoozedUntil: null },
  };
  return { key, value, groups: groupsOfAlert(key, owner), secret };
}

/** The step that keeps an alert. */
export const storeWebhookAlert = ({ key, value, groups }: WebhookAlert): Operation =>
  insert(alerts, { key, value, groups });

/** The steps that queue an event with a body of the size that events have. */
export function queuedEvent(to: AlertRecord, eventId = newMessageId(Date.now()), at = Date.now()) {
  const type = "signal.shift";
  const data = { alertId: to.key, eventId, padding: "x".repeat(1_500) };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return enqueueDelivery(to, { eventId, type, body });
}

/** Sends to the loopback address too. */
export function loopbackSender(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
  return createWebhookSender({
    schemes: ["https:", "http:"],
    isAllowed: () => true,
    now: Date.now,
    ...options,
  });
}
