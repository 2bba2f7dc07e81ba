import type { Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  type AlertOwner,
  alerts,
  type DeliveryMethod,
  groupsOfAlert,
  type StoredAlert,
} from "../alert.ts";
import { networkWithRoom } from "../capacity.ts";
import { requireUsableChannel } from "../channels/channel.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { sealWebhookUrl } from "../delivery/sealed-webhook-url.ts";
import { createFirstSecret, decryptSigningSecrets } from "../delivery/signing.ts";
import { requireWatchlist } from "../watchlists/watchlist.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { findAlertByIdempotencyKey, storeIdempotentRequest } from "./idempotency.ts";
import { newAlertId, ownerOf, requireOwnedAlert } from "./ownership.ts";
import { requireAlertQuota } from "./quota.ts";
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
interface RegisteredAlert {
  readonly alert: Pick<StoredAlert, "key" | "value">;
  /** Signing secret; absent when the alert has no webhook. */
  readonly secret?: string;
}

/** The state of a webhook that must be verified, with a new challenge. */
export const pendingWebhookState = (since: number) =>
  ({ is: "pending", since, challenge: randomBase62(CHALLENGE_LENGTH) }) as const;

/**
 * Registers an alert. The alert, its audit row and the challenge of its webhook are stored in one
 * transaction. A request that repeats an earlier one with the same idempotency key returns the
 * earlier alert.
 *
 * @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`,
 * `insufficient_scope`; `not_found` for a channel or watchlist that the caller may not use;
 * `wrong_state` for a channel that must be verified first.
 */
export async function createAlert(
  options: AlertDependencies,
  caller: Caller,
  { wanted, idempotencyKey: key }: AlertRegistrationRequest,
): Promise<RegisteredAlert> {
  const owner = ownerOf(caller);
  const request = key === undefined ? undefined : { owner, key, input: wanted };
  const at = options.now().getTime();
  const room = await options.capacity.roomFor(owner);
  return transact(options.records, async (tx) => {
    const earlier = request && (await findAlertByIdempotencyKey(tx, request));
    if (earlier !== undefined) return earlierAlert(tx, options, caller, earlier);
    const network = networkWithRoom(room);
    const registered = buildAlert(options, caller, { ...wanted, network }, at);
    const { alert } = registered;
    await requireAlertQuota(tx, alert);
    await requireWatchlist(tx, wanted.watched);
    await requireUsableChannel(tx, caller, wanted.channelId);
    if (request !== undefined) {
      storeIdempotentRequest(tx, request, { alertId: alert.key, groups: alert.groups });
    }
    tx.insert(alerts, { key: alert.key, value: alert.value });
    enqueueChallenge(tx, alert, at);
    tx.announce(ALERTS_TOPIC, alert.key);
    options.audit(tx, { action: "alert.registered", actor: owner.id, target: alert.key });
    return registered;
  });
}

/**
 * The alert that an earlier request with the same idempotency key registered, in its current state.
 */
async function earlierAlert(
  tx: Transaction,
  options: AlertDependencies,
  caller: Caller,
  alertId: string,
): Promise<RegisteredAlert> {
  const alert = await requireOwnedAlert({ records: tx }, caller, alertId);
  const { way } = alert.value;
  if (way.by !== "webhook") return { alert };
  const context = { alertId, vault: options.vault };
  const [secret = ""] = decryptSigningSecrets(way.secrets, context, options.now().getTime());
  return { alert, secret };
}

function buildAlert(
  options: AlertDependencies,
  caller: Caller,
  wanted: NewAlert & { readonly network: string },
  at: number,
) {
  validateAlertTimes(wanted, at);
  const owner = ownerOf(caller);
  const alertId = newAlertId();
  const { url, channelId, ...rest } = wanted;
  const { way, secret } =
    channelId === undefined
      ? newDeliveryMethod(url, { alertId, owner }, at, caller.scopes, options)
      : { way: { by: "channel", channelId } as const };
  const value: Alert = { ...rest, owner, way, createdAt: at, isPaused: false };
  const alert = { key: alertId, value, groups: groupsOfAlert(alertId, owner) };
  return { alert, ...(secret !== undefined && { secret }) };
}

/** The delivery method of a new alert. */
function newDeliveryMethod(
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
