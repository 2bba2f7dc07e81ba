import { generateKeyPairSync, randomBytes } from "node:crypto";
import {
  type Alert,
  type AlertOwner,
  alerts,
  groupsOfAlert,
  type WebhookState,
} from "../../src/alerts/alert.ts";
import { newAlertId } from "../../src/alerts/api/ownership.ts";
import {
  enqueueDelivery,
  newMessageId,
  type StorableAlert,
} from "../../src/alerts/delivery/delivery.ts";
import { sealWebhookUrl } from "../../src/alerts/delivery/sealed-webhook-url.ts";
import {
  createWebhookSender,
  type WebhookSender,
  type WebhookSenderOptions,
} from "../../src/alerts/delivery/sender.ts";
import { createFirstSecret, type PrivateKeyJwk } from "../../src/alerts/delivery/signing.ts";
import { createVault, type Vault } from "../../src/keys/vault.ts";
import { insert } from "../../src/store/port/operations.ts";
import type { Operation } from "../../src/store/port/records.ts";
import { stepsOf } from "./steps-of.ts";

/** Vault that seals the signing secrets of a test file's alerts. */
export const vault: Vault = createVault(randomBytes(32));

/** Key by which the webhooks of a test file are compared. */
export const endpointKey: Uint8Array = randomBytes(32);

/** Creates a signing key of the service. */
export const newKey = (): PrivateKeyJwk =>
  generateKeyPairSync("ed25519").privateKey.export({ format: "jwk" }) as PrivateKeyJwk;

/** Default owner of alerts. */
export const OWNER: AlertOwner = { kind: "agent", id: "agent-1", accountId: undefined };

/** An alert with a webhook, in the form in which the alert service stores it. */
export interface WebhookAlert extends StorableAlert {
  /** Signing secret of the alert's deliveries. */
  readonly secret: string;
}

/** Options of an alert. */
export interface WebhookAlertOptions {
  readonly url: string;
  readonly owner?: AlertOwner;
  /** Default: active. */
  readonly state?: WebhookState;
  readonly isPaused?: boolean;
  /** Default: `test`. */
  readonly label?: string;
  /** Default: the vault of the test file. */
  readonly vault?: Vault;
}

/** Creates an alert without storing it. */
export function webhookAlert(options: WebhookAlertOptions): WebhookAlert {
  const { url, owner = OWNER, isPaused = false, label = "test" } = options;
  const { state = { is: "active", since: 0 } } = options;
  const key = newAlertId();
  const keys = { vault: options.vault ?? vault, endpointKey };
  const { secret, sealed: secrets } = createFirstSecret({ alertId: key, vault: keys.vault });
  const value: Alert = {
    ...{ owner, label, kinds: ["signal_shift"], isPaused },
    watched: { by: "symbols", symbols: ["AAPL"] },
    thresholds: { scoreMove: 15, volatilityZ: 2, cooldownDays: null },
    way: {
      by: "webhook",
      ...sealWebhookUrl(new URL(url).href, { alertId: key, owner }, keys),
      secrets,
      state,
    },
    ...{ createdAt: 0, expiresAt: null, snoozedUntil: null },
  };
  return { key, value, groups: groupsOfAlert(key, owner), secret };
}

/** The alert as earlier versions stored it: with the URL of its webhook in plain text. */
export function withPlainUrl(alert: Alert, url: string): Alert {
  const { way } = alert;
  if (way.by !== "webhook") throw new Error("It has no webhook.");
  const { by, secrets, state, scopes } = way;
  return { ...alert, way: { by, ...(scopes && { scopes }), secrets, state, url } };
}

/** The operation that stores an alert. */
export const storeWebhookAlert = ({ key, value }: WebhookAlert): Operation =>
  insert(alerts, { key, value });

/** Operations that queue an event of typical size. */
export function queuedEvent(
  to: StorableAlert,
  eventId = newMessageId(Date.now()),
  at = Date.now(),
) {
  const type = "signal.shift";
  const data = { alertId: to.key, eventId, padding: "x".repeat(1_500) };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return stepsOf(enqueueDelivery, to, { eventId, type, body });
}

/** Creates a webhook sender that also sends to loopback addresses. */
export function loopbackSender(options: Partial<WebhookSenderOptions> = {}): WebhookSender {
  return createWebhookSender({
    schemes: ["https:", "http:"],
    isAllowed: () => true,
    now: Date.now,
    ...options,
  });
}
