import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import { redactEventBody } from "../../answers/event.ts";
import { isEntitledToEvents } from "../../auth/entitlement.ts";
import type { Vault } from "../../keys/vault.ts";
import type { LimitState, Limits } from "../../limits/limits.ts";
import { OutboundError } from "../../outbound/guarded-fetch.ts";
import { countedHost } from "../../outbound/url-policy.ts";
import { type Change, transactOnce } from "../../store/transact.ts";
import {
  type AlertOwner,
  alerts,
  type EventSource,
  eventParty,
  isDeliveryActive,
  type StoredAlert,
  type Webhook,
} from "../alert.ts";
import { attemptChannelDelivery, type ChannelDependencies } from "../channels/channel-attempt.ts";
import { CHALLENGE_MESSAGE_TYPE, isCurrentChallenge } from "./challenge.ts";
import { deleteDelivery, type StoredDelivery } from "./delivery.ts";
import type { AttemptOutcome } from "./endpoint-queues.ts";
import { type RecordAttemptOptions, recordAttempt } from "./record-attempt.ts";
import {
  countRepeatedAttempt,
  delayDeliveryUntilReset,
  isRepeatedAttempt,
  rescheduleDelivery,
} from "./repeat-limit.ts";
import { openWebhookUrl } from "./sealed-webhook-url.ts";
import type { WebhookResponse, WebhookSender } from "./sender.ts";
import { createSignatureHeaders, decryptSigningSecrets, type PrivateKeyJwk } from "./signing.ts";
import { WebhookEndpoint } from "./webhook-endpoint.ts";

/** Dependencies of `attemptDelivery`. */
export interface DeliveryAttemptOptions extends RecordAttemptOptions {
  readonly sender: Pick<WebhookSender, "send">;
  readonly audit: Auditor;
  /** Decrypts URLs and signing secrets of webhooks, and channel targets. */
  readonly vault: Vault;
  /** The service's own signing keys, newest first. */
  readonly keys: () => readonly PrivateKeyJwk[];
  /** The scopes that an owner currently has. */
  readonly scopesOf: (owner: AlertOwner) => Promise<ReadonlySet<Scope>>;
  readonly limits: Limits;
  /** Dependencies for sending messages to channels. */
  readonly channels: ChannelDependencies;
  /** Wall clock. */
  readonly now: () => Date;
}

/**
 * Makes and records one attempt at a delivery that this process has leased. Sends nothing if the
 * delivery must wait or may not be sent at all.
 *
 * @param stopped Aborted when results must no longer be recorded.
 */
export async function attemptDelivery(
  delivery: StoredDelivery,
  options: DeliveryAttemptOptions,
  stopped: AbortSignal,
): Promise<AttemptOutcome> {
  const { records, scopesOf, now } = options;
  const { alertId, channelId } = delivery.value;
  if (channelId !== undefined) return attemptChannelDelivery(delivery, channelId, options, stopped);
  const alert = alertId === undefined ? undefined : await records.get(alerts, alertId);
  const scopes = alert && (await scopesOf(alert.value.owner));
  if (!scopes || !isEntitledToEvents(scopes) || alert.value.way.by !== "webhook") {
    await transactOnce(records, (tx) => deleteDelivery(tx, delivery));
    return "none";
  }
  const { way } = alert.value;
  const instead = await insteadOfSending(delivery, alert, way, options);
  if (instead !== undefined) {
    await transactOnce(records, instead);
    return "none";
  }
  const at = now().getTime();
  const body = redactEventBody(delivery.value.body, readableScopes(way, scopes));
  const response = await send({ id: delivery.key, alertId: alert.key, body }, way, options);
  if (stopped.aborted) return "none";
  const endpoint = new WebhookEndpoint(alert, way, options.audit);
  const attempt = { delivery, members: [], endpoint, at, response };
  return (await recordAttempt(attempt, options)) ? "success" : "failure";
}

/**
 * The scopes that the owner currently has and that the credential also had when it set the
 * webhook's URL.
 */
function readableScopes({ scopes }: Webhook, held: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return scopes === undefined ? held : new Set(scopes.filter((scope) => held.has(scope)));
}

/** What to write for a delivery that must not be sent now; `undefined` when it can be sent. */
async function insteadOfSending(
  delivery: StoredDelivery,
  alert: StoredAlert,
  webhook: Webhook,
  options: DeliveryAttemptOptions,
): Promise<Change | undefined> {
  if (delivery.value.type !== CHALLENGE_MESSAGE_TYPE) {
    if (!isDeliveryActive(alert.value)) return hold(delivery, alert);
    if (!isRepeatedAttempt(delivery)) return undefined;
    return delayDeliveryUntilReset(
      delivery,
      await countRepeatedAttempt(alert.value, options.limits),
    );
  }
  if (!isCurrentChallenge(delivery.value.body, webhook.state)) {
    return (tx) => deleteDelivery(tx, delivery);
  }
  const url = openWebhookUrl(options.vault, alert.key, webhook);
  return delayDeliveryUntilReset(delivery, await countChallenge(alert.value, url, options.limits));
}

/**
 * Counts a challenge as an attempt without a new event, because an owner can register any number of
 * hosts, and for its host, so that the service cannot be used to attack one.
 */
async function countChallenge(
  source: EventSource,
  url: string,
  limits: Limits,
): Promise<LimitState> {
  const attempt = await countRepeatedAttempt(source, limits);
  if (attempt.isExceeded) return attempt;
  return limits.admit("host-requests", { ...eventParty(source), target: countedHost(url) });
}

/**
 * Holds a delivery back without a due time, if the alert is still the same: the transaction that
 * activates an alert releases the deliveries held back until then, and would miss one that is held
 * back later.
 */
const hold =
  (delivery: StoredDelivery, alert: StoredAlert): Change =>
  (tx) => {
    tx.check(alerts, alert);
    return rescheduleDelivery(delivery, null)(tx);
  };

/** A message to be sent to a webhook. */
interface Outgoing {
  /** The `webhook-id` of the message (Standard Webhooks). */
  readonly id: string;
  readonly alertId: string;
  readonly body: string;
}

/** Signs and sends a message. @returns The response; `undefined` when no response arrived. */
async function send(
  { id, alertId, body }: Outgoing,
  webhook: Webhook,
  { sender, vault, keys, now }: DeliveryAttemptOptions,
): Promise<WebhookResponse | undefined> {
  const at = now().getTime();
  const url = openWebhookUrl(vault, alertId, webhook);
  const secrets = decryptSigningSecrets(webhook.secrets, { alertId, vault }, at);
  const headers = createSignatureHeaders({ id, at, body, secrets, keys: keys() });
  try {
    return await sender.send({ url, headers: { ...headers }, body });
  } catch (error) {
    if (error instanceof OutboundError) return undefined;
    throw error;
  }
}
