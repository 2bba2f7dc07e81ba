import type { Auditor } from "../../access/auditor.ts";
import { announce, replace } from "../../store/port/operations.ts";
import type { Operation, Records } from "../../store/port/records.ts";
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
  readonly #records: Records;
  readonly #audit: Auditor;

  /** @param alert The alert as it was before the attempt. */
  constructor(
    alert: StoredAlert,
    webhook: Webhook,
    { records, audit }: { readonly records: Records; readonly audit: Auditor },
  ) {
    this.#alert = alert;
    this.#webhook = webhook;
    this.#records = records;
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
  async afterSuccess({ type, body }: Delivery, at: number): Promise<readonly Operation[]> {
    if (type !== CHALLENGE_MESSAGE_TYPE) return [];
    const alert = await this.#records.get(alerts, this.id);
    const way = alert?.value.way;
    if (alert === undefined || way?.by !== "webhook") return [];
    if (!isCurrentChallenge(body, way.state)) return [];
    const value = { ...alert.value, way: { ...way, state: { is: "active", since: at } as const } };
    return [
      replace(alerts, alert, { value }),
      ...releaseHeldDeliveries(alert),
      ...this.#audit({ action: "alert.verified", actor: "system", target: this.id }),
      announce(ALERTS_TOPIC, this.id),
    ];
  }

  async afterFailure(): Promise<readonly Operation[]> {
    return [];
  }

  disable(reason: DisabledReason, at: number): Promise<readonly Operation[] | undefined> {
    return disableWebhook(this.#alert, reason, at, this.#records, this.#audit);
  }
}
