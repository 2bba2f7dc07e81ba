import type { Caller } from "../../auth/caller.ts";
import type { Scope } from "../../auth/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { announce, insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  alerts,
  type Owner,
  type StoredAlert,
  type Way,
} from "../alert.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { firstSecret, signingSecrets } from "../delivery/signing.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { findEarlierAlert, type IdempotentRequest, rememberRequest } from "./idempotency.ts";
import { groupsOfAlert, newAlertId, ownerOf, requireOwnAlert } from "./ownership.ts";
import { reserveQuota } from "./quota.ts";
import { validateTimes, validateWebhookUrl } from "./validation.ts";

/** Random characters of a challenge, about 190 bits. */
const CHALLENGE_LENGTH = 32;

/** What a new alert is to be. */
export interface NewAlert
  extends Pick<Alert, "label" | "kinds" | "watched" | "thresholds" | "expiresAt" | "snoozedUntil"> {
  /** Absent: its events are polled or streamed. */
  readonly url: string | undefined;
}

/** A request for an alert. */
export interface Registration {
  readonly wanted: NewAlert;
  /** Names the request, so that it can be repeated. */
  readonly idempotencyKey: string | undefined;
}

/** An alert, and what its webhook is signed with. */
export interface RegisteredAlert {
  readonly alert: Pick<StoredAlert, "key" | "value">;
  /** Absent: it has no webhook. */
  readonly secret?: string;
}

/** The state of a webhook of which nobody knows yet whether it wants events. */
export const pendingState = (since: number) =>
  ({ is: "pending", since, challenge: randomBase62(CHALLENGE_LENGTH) }) as const;

/**
 * Makes an alert: the record, its audit row and the challenge of its webhook are one commit. A
 * request that came before under its key makes none.
 *
 * @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`,
 *   `insufficient_scope`.
 */
export async function register(
  options: AlertDependencies,
  caller: Caller,
  { wanted, idempotencyKey: key }: Registration,
): Promise<RegisteredAlert> {
  const { records } = options;
  const owner = ownerOf(caller);
  const repeatable = key === undefined ? undefined : { owner, key, input: wanted };
  const wish = { owner, wanted, repeatable, scopes: caller.scopes };
  for (;;) {
    const earlier = repeatable && (await findEarlierAlert(records, repeatable));
    if (earlier !== undefined) return known(options, caller, earlier);
    const { registered, steps } = made(options, wish);
    const room = await reserveQuota(records, registered.alert);
    if (await records.commit([...room, ...steps])) return registered;
  }
}

/** An alert that was made before, as it is by now. */
async function known(
  options: AlertDependencies,
  caller: Caller,
  alertId: string,
): Promise<RegisteredAlert> {
  const alert = await requireOwnAlert(options, caller, alertId);
  const { way } = alert.value;
  if (way.by === "poll") return { alert };
  const place = { alertId, vault: options.vault };
  const [secret = ""] = signingSecrets(way.secrets, place, options.now().getTime());
  return { alert, secret };
}

interface Wish {
  readonly owner: Owner;
  readonly wanted: NewAlert;
  readonly repeatable: IdempotentRequest | undefined;
  /** What the credential holds. */
  readonly scopes: ReadonlySet<Scope>;
}

function made(options: AlertDependencies, { owner, wanted, repeatable, scopes }: Wish) {
  const { audit, now } = options;
  const at = now().getTime();
  validateTimes(wanted, at);
  const alertId = newAlertId();
  const { url, ...rest } = wanted;
  const { way, secret } = wayTo(url, { ...options, alertId, at, scopes });
  const value: Alert = { ...rest, owner, way, createdAt: at, isPaused: false };
  const alert = { key: alertId, value, groups: groupsOfAlert(alertId, owner) };
  const steps: readonly Operation[] = [
    ...(repeatable === undefined
      ? []
      : [rememberRequest(repeatable, { alertId, groups: alert.groups })]),
    insert(alerts, alert),
    ...enqueueChallenge(alert, at),
    announce(ALERTS_TOPIC, alertId),
    ...audit({ action: "alert.registered", actor: owner.id, target: alertId }),
  ];
  return { registered: { alert, ...(secret !== undefined && { secret }) }, steps };
}

interface WayOptions extends Pick<AlertDependencies, "vault" | "urlPolicy"> {
  readonly alertId: string;
  readonly at: number;
  readonly scopes: ReadonlySet<Scope>;
}

function wayTo(
  url: string | undefined,
  { vault, urlPolicy, alertId, at, scopes }: WayOptions,
): { readonly way: Way; readonly secret?: string } {
  if (url === undefined) return { way: { by: "poll" } };
  const { secret, sealed } = firstSecret({ alertId, vault });
  const way: Way = {
    by: "webhook",
    url: validateWebhookUrl(url, urlPolicy),
    scopes: [...scopes],
    secrets: sealed,
    state: pendingState(at),
  };
  return { way, secret };
}
