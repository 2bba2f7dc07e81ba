import type { Caller } from "../../access/caller.ts";
import type { Scope } from "../../access/scopes.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { Direction } from "../../score/signal-hysteresis.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  type AlertThresholds,
  alerts,
  type DeliveryMethod,
  type InstrumentSelector,
  isDeliveryActive,
  type StoredAlert,
} from "../alert.ts";
import { requireUsableChannel } from "../channels/channel.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { endpointHealthRecords } from "../delivery/endpoint-health.ts";
import { releaseHeldDeliveries } from "../delivery/held-deliveries.ts";
import {
  sealedWebhook,
  sealWebhookUrl,
  type WebhookOf,
  type WebhookUrlKeys,
  webhookEndpoint,
} from "../delivery/sealed-webhook-url.ts";
import { createNextSecret } from "../delivery/signing.ts";
import { requireWatchlist } from "../watchlists/watchlist.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { deleteAlert, requireOwnedAlert } from "./ownership.ts";
import { pendingWebhookState } from "./register.ts";
import {
  alreadyHasWebhookProblem,
  editConflictProblem,
  noWebhookProblem,
  selectsEverythingProblem,
  validateAlertTimes,
  validateWebhookUrl,
} from "./validation.ts";

/** A caller's request that concerns one alert. */
export interface AlertRequest {
  readonly caller: Caller;
  readonly alertId: string;
  /**
   * The `alertVersion` that the caller last read. When absent, an update applies to any version.
   */
  readonly version?: string | undefined;
}

/** Changes to an alert. Absent members stay unchanged. */
export interface AlertChanges
  extends Partial<
    Pick<Alert, "label" | "kinds" | "watched" | "expiresAt" | "snoozedUntil" | "isPaused">
  > {
  /** Direction that the signal must have after an event; `null` for any. */
  readonly signal?: Direction | null;
  readonly thresholds?: Partial<AlertThresholds>;
  readonly url?: string;
  /**
   * Id of the account's channel to which events are sent; `null` if events are only polled. The
   * change also applies to events that are already queued.
   */
  readonly channelId?: string | null;
}

/**
 * Fingerprint of those settings of an alert that an update can change. The state of the webhook is
 * not included.
 */
export function alertVersion({
  owner,
  label,
  kinds,
  watched,
  thresholds,
  way,
  expiresAt,
  snoozedUntil,
}: Alert): string {
  const to =
    way.by === "webhook"
      ? webhookEndpoint(owner, way)
      : way.by === "channel"
        ? way.channelId
        : null;
  const settings = [label, kinds, watched, thresholds, to, expiresAt, snoozedUntil];
  return fingerprint(JSON.stringify(settings));
}

/** A changed alert. */
interface AlertChange {
  readonly value: Alert;
  /** The action to record in the audit log. */
  readonly action: string;
}

/**
 * Changes an alert. A webhook whose URL changes must be verified again.
 *
 * @throws {Problem} `not_found`, `invalid_request`; `wrong_state` when a URL is given for an alert
 * without a webhook, when a channel is given for an alert with a webhook, and when the alert has
 * changed since the caller read it.
 */
export function updateAlert(
  options: AlertDependencies,
  wanted: AlertRequest,
  { thresholds, url, channelId, signal, ...changes }: AlertChanges,
): Promise<StoredAlert> {
  const { urlPolicy } = options;
  const at = options.now().getTime();
  return applyChange(options, wanted, at, async (tx, { key, value, groups }) => {
    const { version = alertVersion(value) } = wanted;
    if (version !== alertVersion(value)) throw editConflictProblem();
    validateAlertTimes(changes, at);
    const isRouted = channelId !== undefined && channelId !== channelOf(value.way);
    await requireWatchlist(tx, changes.watched);
    if (isRouted) await requireUsableChannel(tx, wanted.caller, channelId ?? undefined);
    const before = isRouted ? withChannel(value.way, channelId) : value.way;
    const { scopes } = wanted.caller;
    const target = url !== undefined && { url: validateWebhookUrl(url, urlPolicy), scopes, at };
    const of = { alertId: key, owner: value.owner };
    const { way, isMoved } = target
      ? withUrl(before, target, of, options)
      : { way: before, isMoved: false };
    if (isMoved) tx.remove(endpointHealthRecords, key);
    if (isRouted) releaseHeldDeliveries(tx, { key, groups });
    return {
      value: {
        ...value,
        ...changes,
        watched: selectorAfter(value.watched, changes.watched, signal),
        thresholds: { ...value.thresholds, ...thresholds },
        way,
      },
      action: "alert.changed",
    };
  });
}

/**
 * The selector of a changed alert, which keeps its signal unless it gets another.
 *
 * @throws {Problem} `invalid_request` when it would cover every instrument.
 */
function selectorAfter(
  before: InstrumentSelector,
  watched: InstrumentSelector = before,
  signal: InstrumentSelector["signal"] = before.signal,
): InstrumentSelector {
  const after = signal === undefined ? watched : { ...watched, signal };
  if (after.by === "filter" && after.assetClass === null && !after.signal) {
    throw selectsEverythingProblem();
  }
  return after;
}

/**
 * Id of the channel to which events are sent; `null` if events are polled, `undefined` if they go
 * to a webhook.
 */
const channelOf = (way: DeliveryMethod): string | null | undefined =>
  way.by === "webhook" ? undefined : way.by === "channel" ? way.channelId : null;

/**
 * The new delivery method: events are sent to the channel, or only polled if `channelId` is `null`.
 */
function withChannel(way: DeliveryMethod, channelId: string | null): DeliveryMethod {
  if (way.by === "webhook") throw alreadyHasWebhookProblem();
  return channelId === null ? { by: "poll" } : { by: "channel", channelId };
}

/** The URL that a credential gives a webhook. */
interface WebhookTarget {
  /** A normalized URL. */
  readonly url: string;
  /** Scopes of the credential. */
  readonly scopes: ReadonlySet<Scope>;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Sets the URL of a webhook and the scopes of the credential that set it. A different URL must be
 * verified.
 */
function withUrl(
  way: DeliveryMethod,
  { url, scopes, at }: WebhookTarget,
  of: WebhookOf,
  keys: WebhookUrlKeys,
): { readonly way: DeliveryMethod; readonly isMoved: boolean } {
  if (way.by !== "webhook") throw noWebhookProblem(way.by);
  const before = sealedWebhook(way, of, keys);
  const after = sealWebhookUrl(url, of, keys);
  const isMoved = before.endpoint !== after.endpoint;
  const state = isMoved ? pendingWebhookState(at) : way.state;
  return { way: { ...before, ...after, scopes: [...scopes], state }, isMoved };
}

/**
 * Sends a new challenge to a webhook that is disabled or not verified. An active webhook is left
 * unchanged.
 */
export function enableAlert(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<StoredAlert> {
  const at = options.now().getTime();
  return applyChange(options, wanted, at, (tx, { key, value }) => {
    const { way } = value;
    if (way.by !== "webhook") throw noWebhookProblem(way.by);
    tx.remove(endpointHealthRecords, key);
    const state = way.state.is === "active" ? way.state : pendingWebhookState(at);
    return {
      value: { ...value, way: { ...way, state } },
      action: "alert.enabled",
    };
  });
}

/** Replaces the signing secret of a webhook with a new one. */
export async function rotateSecret(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<{ readonly alert: StoredAlert; readonly secret: string }> {
  const at = options.now().getTime();
  let newSecret = "";
  const alert = await applyChange(options, wanted, at, (_tx, { key, value }) => {
    const { way } = value;
    if (way.by !== "webhook") throw noWebhookProblem(way.by);
    const context = { alertId: key, vault: options.vault };
    const { secret, sealed } = createNextSecret(way.secrets, context, at);
    newSecret = secret;
    return {
      value: { ...value, way: { ...way, secrets: sealed } },
      action: "alert.secret_rotated",
    };
  });
  return { alert, secret: newSecret };
}

/**
 * Changes an alert in a transaction. A webhook that becomes pending is sent its challenge. When an
 * alert starts sending, the deliveries that were held back are released.
 */
function applyChange(
  { records, audit }: AlertDependencies,
  { caller, alertId }: AlertRequest,
  at: number,
  change: (tx: Transaction, alert: StoredAlert) => AlertChange | Promise<AlertChange>,
): Promise<StoredAlert> {
  return transact(records, async (tx) => {
    const before = await requireOwnedAlert({ records: tx }, caller, alertId);
    const { value, action } = await change(tx, before);
    const after = { ...before, value };
    tx.update(alerts, before, { value });
    const challenge = challengeOf(after);
    if (challenge !== undefined && challenge !== challengeOf(before)) {
      enqueueChallenge(tx, after, at);
    }
    if (isDeliveryActive(value) && !isDeliveryActive(before.value)) {
      releaseHeldDeliveries(tx, after);
    }
    tx.announce(ALERTS_TOPIC, alertId);
    audit(tx, { action, actor: caller.id, target: alertId });
    return after;
  });
}

function challengeOf({ value: { way } }: StoredAlert): string | undefined {
  return way.by === "webhook" && way.state.is === "pending" ? way.state.challenge : undefined;
}

/** Removes an alert with all records that belong to it. */
export function removeAlert(
  tx: Transaction,
  audit: AlertDependencies["audit"],
  { alertId, by }: { readonly alertId: string; readonly by: string },
): void {
  deleteAlert(tx, alertId);
  audit(tx, { action: "alert.deleted", actor: by, target: alertId });
}
