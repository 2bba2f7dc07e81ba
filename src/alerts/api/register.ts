import type { Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { announce, insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  type AlertOwner,
  alerts,
  type DeliveryMethod,
  type StoredAlert,
} from "../alert.ts";
import { guardChannelReference } from "../channels/channel.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { createFirstSecret, decryptSigningSecrets } from "../delivery/signing.ts";
import { sealWebhookUrl } from "../delivery/webhook-url.ts";
import { guardWatchlistReference } from "../watchlists/watchlist.ts";
import type { AlertDependencies } from "./dependencies.ts";
import {
  findAlertByIdempotencyKey,
  type IdempotentRequest,
  storeIdempotentRequest,
} from "./idempotency.ts";
import { groupsOfAlert, newAlertId, ownerOf, requireOwnedAlert } from "./ownership.ts";
import { reserveAlertQuota } from "./quota.ts";
import { validateAlertTimes, validateWebhookUrl } from "./validation.ts";

/**
 * Number of random base62 characters in a challenge; 32 characters have about 190 bits of entropy.
 */
const CHALLENGE_LENGTH = 32;

/** The settings of a new alert that the caller chooses. */
export interface NewAlert
  extends Pick<Alert, "label" | "kinds" | "watched" | "thresholds" | "expiresAt" | "snoozedUntil"> {
  /** URL of the alert's webhook; `undefined` for no webhook. */
  readonly url: string | undefined;
  /**
   * Id of the account's channel to which events are sent. If neither a channel nor a URL is given,
   * events are polled or streamed.
   */
  readonly channelId?: string | undefined;
}

/** A request to register an alert. */
export interface AlertRegistrationRequest {
  readonly wanted: NewAlert;
  /** Idempotency key of the request. */
  readonly idempotencyKey: string | undefined;
}

/** A registered alert with its signing secret. */
export interface RegisteredAlert {
  readonly alert: Pick<StoredAlert, "key" | "value">;
  /** Signing secret; absent when the alert has no webhook. */
  readonly secret?: string;
}

/** The state of a webhook that must be verified, with a new challenge. */
export const pendingWebhookState = (since: number) =>
  ({ is: "pending", since, challenge: randomBase62(CHALLENGE_LENGTH) }) as const;

/**
 * Registers an alert. The alert, its audit row and the challenge of its webhook are stored in one
 * commit. A request that repeats an earlier one with the same idempotency key returns the earlier
 * alert.
 *
 * @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`,
 * `insufficient_scope`.
 */
export async function createAlert(
  options: AlertDependencies,
  caller: Caller,
  { wanted, idempotencyKey: key }: AlertRegistrationRequest,
): Promise<RegisteredAlert> {
  const { records } = options;
  const owner = ownerOf(caller);
  const request = key === undefined ? undefined : { owner, key, input: wanted };
  for (;;) {
    const earlier = request && (await findAlertByIdempotencyKey(records, request));
    if (earlier !== undefined) return earlierAlert(options, caller, earlier);
    const { registered, operations } = buildAlert(options, caller, wanted, request);
    const reserved = await reserveAlertQuota(records, registered.alert);
    const kept = [
      ...(await guardWatchlistReference(records, wanted.watched)),
      ...(await guardChannelReference(records, caller, wanted.channelId)),
    ];
    if (await records.commit([...reserved, ...kept, ...operations])) return registered;
  }
}

/**
 * The alert that an earlier request with the same idempotency key registered, in its current state.
 */
async function earlierAlert(
  options: AlertDependencies,
  caller: Caller,
  alertId: string,
): Promise<RegisteredAlert> {
  const alert = await requireOwnedAlert(options, caller, alertId);
  const { way } = alert.value;
  if (way.by !== "webhook") return { alert };
  const context = { alertId, vault: options.vault };
  const [secret = ""] = decryptSigningSecrets(way.secrets, context, options.now().getTime());
  return { alert, secret };
}

/** Builds a new alert and the operations that store it. */
function buildAlert(
  options: AlertDependencies,
  caller: Caller,
  wanted: NewAlert,
  request: IdempotentRequest | undefined,
) {
  const { audit, now } = options;
  const owner = ownerOf(caller);
  const at = now().getTime();
  validateAlertTimes(wanted, at);
  const alertId = newAlertId();
  const { url, channelId, ...rest } = wanted;
  const { way, secret } =
    channelId === undefined
      ? wayTo(url, { alertId, owner }, at, caller.scopes, options)
      : { way: { by: "channel", channelId } as const };
  const value: Alert = { ...rest, owner, way, createdAt: at, isPaused: false };
  const alert = { key: alertId, value, groups: groupsOfAlert(alertId, owner) };
  const operations: readonly Operation[] = [
    ...(request === undefined
      ? []
      : [storeIdempotentRequest(request, { alertId, groups: alert.groups })]),
    insert(alerts, alert),
    ...enqueueChallenge(alert, at),
    announce(ALERTS_TOPIC, alertId),
    ...audit({ action: "alert.registered", actor: owner.id, target: alertId }),
  ];
  return { registered: { alert, ...(secret !== undefined && { secret }) }, operations };
}

/** The delivery method of a new alert. */
function wayTo(
  url: string | undefined,
  alert: { readonly alertId: string; readonly owner: AlertOwner },
  at: number,
  scopes: ReadonlySet<Scope>,
  { vault, endpointKey, urlPolicy }: AlertDependencies,
): { readonly way: DeliveryMethod; readonly secret?: string } {
  if (url === undefined) return { way: { by: "poll" } };
  const { secret, sealed } = createFirstSecret({ alertId: alert.alertId, vault });
  const way: DeliveryMethod = {
    by: "webhook",
    ...sealWebhookUrl(validateWebhookUrl(url, urlPolicy), alert, { vault, endpointKey }),
    scopes: [...scopes],
    secrets: sealed,
    state: pendingWebhookState(at),
  };
  return { way, secret };
}
