import type { Auditor } from "../../access/auditor.ts";
import type { Transaction } from "../../store/transact.ts";
import { ALERTS_TOPIC, alerts, type StoredAlert, type Webhook } from "../alert.ts";
import { CHALLENGE_MESSAGE_TYPE, echoesChallenge, isCurrentChallenge } from "./challenge.ts";
import type { Delivery } from "./delivery.ts";
import {
  type DisabledReason,
  type Endpoint,
  type EndpointVerdict,
  UNREACHABLE_VERDICT,
  verdictOfHttpStatus,
} from "./endpoint.ts";
import { disableWebhook } from "./endpoint-health.ts";
import { releaseHeldDeliveries } from "./held-deliveries.ts";
import type { WebhookResponse } from "./sender.ts";

/**
 * HTTP statuses after which the webhook is treated as gone (RFC 9110 section 15.5.11, Standard
 * Webhooks 1.0.0).
 */
const GONE = [410];

/** The webhook of an alert as the endpoint of a delivery. */
export class WebhookEndpoint implements Endpoint {
  readonly #alert: StoredAlert;
  readonly #webhook: Webhook;
  readonly #audit: Auditor;

  /** @param alert The alert as it was before the attempt. */
  constructor(alert: StoredAlert, webhook: Webhook, audit: Auditor) {
    this.#alert = alert;
    this.#webhook = webhook;
    this.#audit = audit;
  }

  get id(): string {
    return this.#alert.key;
  }

  get groups(): readonly string[] {
    return this.#alert.groups;
  }

  verdictOn({ type }: Delivery, response: WebhookResponse | undefined): EndpointVerdict {
    if (response === undefined) return UNREACHABLE_VERDICT;
    const verdict = verdictOfHttpStatus(response, GONE);
    if (verdict.error !== "none" || type !== CHALLENGE_MESSAGE_TYPE) return verdict;
    const { state } = this.#webhook;
    const isAnswered = state.is === "pending" && echoesChallenge(response.body, state.challenge);
    return isAnswered ? verdict : { ...verdict, error: "bad_challenge" };
  }

  /**
   * Activates a webhook that has echoed its challenge, unless a newer challenge has replaced it.
   */
  async afterSuccess(tx: Transaction, { type, body }: Delivery, at: number): Promise<void> {
    if (type !== CHALLENGE_MESSAGE_TYPE) return;
    const alert = await tx.get(alerts, this.id);
    const way = alert?.value.way;
    if (alert === undefined || way?.by !== "webhook") return;
    if (!isCurrentChallenge(body, way.state)) return;
    const value = { ...alert.value, way: { ...way, state: { is: "active", since: at } as const } };
    tx.update(alerts, alert, { value });
    releaseHeldDeliveries(tx, alert);
    this.#audit(tx, { action: "alert.verified", actor: "system", target: this.id });
    tx.announce(ALERTS_TOPIC, this.id);
  }

  async afterFailure(): Promise<void> {}

  disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean> {
    return disableWebhook(tx, this.#alert, reason, at, this.#audit);
  }
}
