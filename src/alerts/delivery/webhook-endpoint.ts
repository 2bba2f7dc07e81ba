import type { Auditor } from "../../access/auditor.ts";
import type { Scope } from "../../access/scopes.ts";
import { redactEventBody } from "../../answers/event.ts";
import type { Vault } from "../../keys/vault.ts";
import type { LimitState, Limits } from "../../limits/limits.ts";
import { countedHost } from "../../outbound/url-policy.ts";
import type { Transaction } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type AlertOwner,
  alertStatusAt,
  alerts,
  eventParty,
  isDeliveryActive,
  isOwnedBy,
  ownerGroup,
  type StoredAlert,
  type Webhook,
  type WebhookState,
} from "../alert.ts";
import type { EntitledAlert } from "./addressee.ts";
import { CHALLENGE_MESSAGE_TYPE, echoesChallenge, isCurrentChallenge } from "./challenge.ts";
import {
  type AlertMessage,
  enqueueDelivery,
  newMessageId,
  queuedDeliveriesGroup,
  type StoredDelivery,
} from "./delivery.ts";
import {
  type DisabledReason,
  drop,
  type Endpoint,
  type EndpointVerdict,
  holdBack,
  type Instead,
  type Ready,
  UNREACHABLE_VERDICT,
  verdictOfHttpStatus,
} from "./endpoint.ts";
import { endpointHealthRecords } from "./endpoint-health.ts";
import { releaseHeldDeliveries } from "./held-deliveries.ts";
import { countRepeatedAttempt, delayIfExceeded, delayIfRepeatedTooOften } from "./repeat-limit.ts";
import { openWebhookUrl, webhookEndpoint } from "./sealed-webhook-url.ts";
import type { WebhookRequest, WebhookResponse } from "./sender.ts";
import { createSignatureHeaders, decryptSigningSecrets, type PrivateKeyJwk } from "./signing.ts";

/**
 * HTTP statuses after which the webhook is treated as gone (RFC 9110 section 15.5.11, Standard
 * Webhooks 1.0.0).
 */
const GONE = [410];

/**
 * Maximum number of an owner's alerts that are considered when a disabled webhook is reported to
 * the owner's other webhooks and channels.
 */
const MAX_NOTIFIED = 1_000;

/** Dependencies of `WebhookEndpoint`. */
export interface WebhookEndpointOptions {
  readonly audit: Auditor;
  /** Decrypts URLs and signing secrets. */
  readonly vault: Vault;
  /** The service's own signing keys, newest first. */
  readonly keys: () => readonly PrivateKeyJwk[];
  readonly limits: Limits;
  /** Wall clock. */
  readonly now: () => Date;
}

/** The webhook of an alert as the endpoint of a delivery. */
export class WebhookEndpoint implements Endpoint {
  readonly #alert: EntitledAlert;
  readonly #webhook: Webhook;
  readonly #options: WebhookEndpointOptions;

  /** @param alert The alert as it is before the attempt. */
  constructor(alert: EntitledAlert, webhook: Webhook, options: WebhookEndpointOptions) {
    this.#alert = alert;
    this.#webhook = webhook;
    this.#options = options;
  }

  get id(): string {
    return this.#alert.key;
  }

  get groups(): readonly string[] {
    return this.#alert.groups;
  }

  prepare(delivery: StoredDelivery): Promise<Ready | Instead> {
    return delivery.value.type === CHALLENGE_MESSAGE_TYPE
      ? this.#prepareChallenge(delivery)
      : this.#prepareEvent(delivery);
  }

  async #prepareChallenge(delivery: StoredDelivery): Promise<Ready | Instead> {
    const { body } = delivery.value;
    const { state } = this.#webhook;
    if (!isCurrentChallenge(body, state)) return drop(delivery);
    const exceeded = delayIfExceeded(delivery, await this.#countChallenge());
    if (exceeded !== undefined) return exceeded;
    return {
      request: this.#signed(delivery),
      isVerification: true,
      verdictOn: (response) => verdictOnChallenge(response, state),
      onAccepted: (tx, at) => this.#activate(tx, body, at),
    };
  }

  async #prepareEvent(delivery: StoredDelivery): Promise<Ready | Instead> {
    const alert = this.#alert;
    if (!isDeliveryActive(alert.value)) return holdBack(delivery, alerts, alert);
    const exceeded = await delayIfRepeatedTooOften(delivery, alert.value, this.#options.limits);
    if (exceeded !== undefined) return exceeded;
    return { request: this.#signed(delivery), isVerification: false, verdictOn };
  }

  /**
   * Counts a challenge as an attempt without a new event, because an owner can register any number
   * of hosts, and for its host, so that the service cannot be used to attack one.
   */
  async #countChallenge(): Promise<LimitState> {
    const { limits, vault } = this.#options;
    const attempt = await countRepeatedAttempt(this.#alert.value, limits);
    if (attempt.isExceeded) return attempt;
    const url = openWebhookUrl(vault, this.id, this.#webhook);
    return limits.admit("host-requests", {
      ...eventParty(this.#alert.value),
      target: countedHost(url),
    });
  }

  /** The signed request with what of a message the webhook may read. */
  #signed({ key: id, value }: StoredDelivery): WebhookRequest {
    const { vault, keys, now } = this.#options;
    const [alertId, at] = [this.id, now().getTime()];
    const body = redactEventBody(value.body, readableScopes(this.#webhook, this.#alert.scopes));
    const url = openWebhookUrl(vault, alertId, this.#webhook);
    const secrets = decryptSigningSecrets(this.#webhook.secrets, { alertId, vault }, at);
    const headers = createSignatureHeaders({ id, at, body, secrets, keys: keys() });
    return { url, headers: { ...headers }, body };
  }

  /**
   * Activates a webhook that has echoed its challenge, unless a newer challenge has replaced it.
   */
  async #activate(tx: Transaction, body: string, at: number): Promise<void> {
    const alert = await tx.get(alerts, this.id);
    const way = alert?.value.way;
    if (alert === undefined || way?.by !== "webhook") return;
    if (!isCurrentChallenge(body, way.state)) return;
    const value = { ...alert.value, way: { ...way, state: { is: "active", since: at } as const } };
    tx.update(alerts, alert, { value });
    releaseHeldDeliveries(tx, alert);
    this.#options.audit(tx, { action: "alert.verified", actor: "system", target: this.id });
    tx.announce(ALERTS_TOPIC, this.id);
  }

  /**
   * Disables the webhook, unless it was removed, changed or enabled since the attempt, and notifies
   * the other webhooks and the channels of the alert's owner.
   */
  async disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean> {
    const alert = await tx.get(alerts, this.id);
    const way = alert?.value.way;
    if (alert === undefined || way?.by !== "webhook") return false;
    const { owner } = alert.value;
    if (!isSameWebhook(owner, way, this.#webhook)) return false;
    const state: WebhookState = { is: "disabled", since: at, reason };
    const all = await tx.list(alerts, { group: ownerGroup(owner), limit: MAX_NOTIFIED });
    const others = all.filter(
      ({ key, value }) =>
        key !== this.id && isOwnedBy(value.owner, owner) && alertStatusAt(value, at) === "active",
    );
    tx.update(alerts, alert, { value: { ...alert.value, way: { ...way, state } } });
    tx.removeGroup(queuedDeliveriesGroup(this.id));
    tx.remove(endpointHealthRecords, this.id);
    for (const other of oncePerChannel(others)) {
      enqueueDelivery(tx, other, disabledNotice(alert, reason, at));
    }
    this.#options.audit(tx, { action: "alert.disabled", actor: "system", target: this.id });
    tx.announce(ALERTS_TOPIC, this.id);
    return true;
  }
}

/**
 * The scopes that the owner currently has and that the credential also had when it set the
 * webhook's URL.
 */
function readableScopes({ scopes }: Webhook, held: ReadonlySet<Scope>): ReadonlySet<Scope> {
  return scopes === undefined ? held : new Set(scopes.filter((scope) => held.has(scope)));
}

const verdictOn = (response: WebhookResponse | undefined): EndpointVerdict =>
  response === undefined ? UNREACHABLE_VERDICT : verdictOfHttpStatus(response, GONE);

function verdictOnChallenge(
  response: WebhookResponse | undefined,
  state: WebhookState,
): EndpointVerdict {
  const verdict = verdictOn(response);
  if (response === undefined || verdict.error !== "none") return verdict;
  const isAnswered = state.is === "pending" && echoesChallenge(response.body, state.challenge);
  return isAnswered ? verdict : { ...verdict, error: "bad_challenge" };
}

const isSameWebhook = (owner: AlertOwner, way: Webhook, before: Webhook): boolean =>
  webhookEndpoint(owner, way) === webhookEndpoint(owner, before) &&
  way.state.since === before.state.since;

/** Keeps one alert of each channel, so that a channel gets one notice. */
const oncePerChannel = (list: readonly StoredAlert[]): readonly StoredAlert[] => [
  ...new Map(
    list.map((alert) => {
      const { way } = alert.value;
      return [way.by === "channel" ? way.channelId : alert.key, alert];
    }),
  ).values(),
];

function disabledNotice(
  { key, value }: StoredAlert,
  reason: DisabledReason,
  at: number,
): AlertMessage {
  const type = "endpoint.disabled";
  const data = { alertId: key, label: value.label, reason };
  const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data });
  return { eventId: newMessageId(at), type, body, isRepeat: true };
}
