import type { Caller } from "../../auth/caller.ts";
import type { Scope } from "../../auth/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { announce, insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  alerts,
  type DeliveryMethod,
  type StoredAlert,
} from "../alert.ts";
import { keepChannel } from "../channels/channel.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { firstSecret, signingSecrets } from "../delivery/signing.ts";
import { keepWatchlist } from "../watchlists/watchlist.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { findEarlierAlert, type IdempotentRequest, rememberRequest } from "./idempotency.ts";
import { groupsOfAlert, newAlertId, ownerOf, requireOwnAlert } from "./ownership.ts";
import { reserveQuota } from "./quota.ts";
import { validateTimes, validateWebhookUrl } from "./validation.ts";

/** Random base62 characters of a challenge, about 190 bits. */
const CHALLENGE_LENGTH = 32;

/** A new alert, as the caller describes it. */
export interface NewAlert
  extends Pick<Alert, "label" | "kinds" | "watched" | "thresholds" | "expiresAt" | "snoozedUntil"> {
  /** URL of its webhook; `undefined`: it has none. */
  readonly url: string | undefined;
  /** Id of the channel of the account that events are sent to, in place of a webhook. Without either,
   *  events are polled or streamed. */
  readonly channelId?: string | undefined;
}

/** A request to register an alert. */
export interface AlertRegistration {
  readonly wanted: NewAlert;
  /** Idempotency key of the request. */
  readonly idempotencyKey: string | undefined;
}

/** A registered alert with its signing secret. */
export interface RegisteredAlert {
  readonly alert: Pick<StoredAlert, "key" | "value">;
  /** Absent: it has no webhook. */
  readonly secret?: string;
}

/** The state of a webhook that has not answered a challenge yet, with a new challenge. */
export const pendingState = (since: number) =>
  ({ is: "pending", since, challenge: randomBase62(CHALLENGE_LENGTH) }) as const;

/**
 * Registers an alert: the record, its audit row and the challenge of its webhook are one commit. A
 * request that repeats an earlier one under the same idempotency key returns that alert.
 *
 * @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`,
 *   `insufficient_scope`.
 */
export async function register(
  options: AlertDependencies,
  caller: Caller,
  { wanted, idempotencyKey: key }: AlertRegistration,
): Promise<RegisteredAlert> {
  const { records } = options;
  const owner = ownerOf(caller);
  const request = key === undefined ? undefined : { owner, key, input: wanted };
  for (;;) {
    const earlier = request && (await findEarlierAlert(records, request));
    if (earlier !== undefined) return earlierAlert(options, caller, earlier);
    const { registered, operations } = buildAlert(options, caller, wanted, request);
    const reserved = await reserveQuota(records, registered.alert);
    const kept = [
      ...(await keepWatchlist(records, wanted.watched)),
      ...(await keepChannel(records, caller, wanted.channelId)),
    ];
    if (await records.commit([...reserved, ...kept, ...operations])) return registered;
  }
}

/** The alert of an earlier request, as it is now. */
async function earlierAlert(
  options: AlertDependencies,
  caller: Caller,
  alertId: string,
): Promise<RegisteredAlert> {
  const alert = await requireOwnAlert(options, caller, alertId);
  const { way } = alert.value;
  if (way.by !== "webhook") return { alert };
  const context = { alertId, vault: options.vault };
  const [secret = ""] = signingSecrets(way.secrets, context, options.now().getTime());
  return { alert, secret };
}

/** A new alert and the operations that store it. */
function buildAlert(
  options: AlertDependencies,
  caller: Caller,
  wanted: NewAlert,
  request: IdempotentRequest | undefined,
) {
  const { audit, now } = options;
  const owner = ownerOf(caller);
  const at = now().getTime();
  validateTimes(wanted, at);
  const alertId = newAlertId();
  const { url, channelId, ...rest } = wanted;
  const { way, secret } =
    channelId === undefined
      ? wayTo(url, alertId, at, caller.scopes, options)
      : { way: { by: "channel", channelId } as const };
  const value: Alert = { ...rest, owner, way, createdAt: at, isPaused: false };
  const alert = { key: alertId, value, groups: groupsOfAlert(alertId, owner) };
  const operations: readonly Operation[] = [
    ...(request === undefined ? [] : [rememberRequest(request, { alertId, groups: alert.groups })]),
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
  alertId: string,
  at: number,
  scopes: ReadonlySet<Scope>,
  { vault, urlPolicy }: AlertDependencies,
): { readonly way: DeliveryMethod; readonly secret?: string } {
  if (url === undefined) return { way: { by: "poll" } };
  const { secret, sealed } = firstSecret({ alertId, vault });
  const way: DeliveryMethod = {
    by: "webhook",
    url: validateWebhookUrl(url, urlPolicy),
    scopes: [...scopes],
    secrets: sealed,
    state: pendingState(at),
  };
  return { way, secret };
}
