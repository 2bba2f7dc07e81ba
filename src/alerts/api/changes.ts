import type { Caller } from "../../auth/caller.ts";
import type { Scope } from "../../auth/scopes.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { announce, remove, replace } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  alerts,
  type DeliveryMethod,
  isSending,
  type StoredAlert,
  type Thresholds,
} from "../alert.ts";
import { keepChannel } from "../channels/channel.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { endpointHealth } from "../delivery/endpoint-health.ts";
import { releaseHeld } from "../delivery/held-deliveries.ts";
import { nextSecret } from "../delivery/signing.ts";
import { keepWatchlist } from "../watchlists/watchlist.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { alertRemoval, requireOwnAlert } from "./ownership.ts";
import { pendingState } from "./register.ts";
import {
  editConflictProblem,
  hasWebhookProblem,
  noWebhookProblem,
  validateTimes,
  validateWebhookUrl,
} from "./validation.ts";

/** A request of a caller about an alert. */
export interface AlertRequest {
  readonly caller: Caller;
  readonly alertId: string;
  /** `alertVersion` that the caller saw; absent: an update changes any version. */
  readonly version?: string | undefined;
}

/** Changes of an alert; absent members are unchanged. */
export interface AlertChanges
  extends Partial<
    Pick<Alert, "label" | "kinds" | "watched" | "expiresAt" | "snoozedUntil" | "isPaused">
  > {
  readonly thresholds?: Partial<Thresholds>;
  readonly url?: string;
  /** Id of the account's channel that events are sent to; `null` for none, so that events are
   *  polled. Queued events are redirected as well. */
  readonly channelId?: string | null;
}

/** Identifies what an update can change of an alert. It does not cover the state of a webhook. */
export function alertVersion({
  label,
  kinds,
  watched,
  thresholds,
  way,
  expiresAt,
  snoozedUntil,
}: Alert): string {
  const to = way.by === "webhook" ? way.url : way.by === "channel" ? way.channelId : null;
  const settings = [label, kinds, watched, thresholds, to, expiresAt, snoozedUntil];
  return fingerprint(JSON.stringify(settings));
}

/** A changed alert. */
interface Change {
  readonly value: Alert;
  /** Action of the audit row. */
  readonly action: string;
  /** Further operations of the commit. */
  readonly operations?: readonly Operation[];
}

/**
 * Changes an alert. A webhook that gets another URL is pending again.
 *
 * @throws {Problem} `not_found`, `invalid_request`; `wrong_state` for the URL of an alert
 *   without a webhook, for the channel of one with a webhook, and when the caller saw another version.
 */
export function updateAlert(
  options: AlertDependencies,
  wanted: AlertRequest,
  { thresholds, url, channelId, ...changes }: AlertChanges,
): Promise<StoredAlert> {
  const { now, urlPolicy } = options;
  return applyChange(options, wanted, async ({ key, value, groups }) => {
    const { version = alertVersion(value) } = wanted;
    if (version !== alertVersion(value)) throw editConflictProblem();
    const at = now().getTime();
    validateTimes(changes, at);
    const { records } = options;
    const isRouted = channelId !== undefined && channelId !== channelOf(value.way);
    const kept = [
      ...(await keepWatchlist(records, changes.watched)),
      ...(isRouted ? await keepChannel(records, wanted.caller, channelId ?? undefined) : []),
    ];
    const before = isRouted ? withChannel(value.way, channelId) : value.way;
    const { way, isMoved } =
      url === undefined
        ? { way: before, isMoved: false }
        : withUrl(before, validateWebhookUrl(url, urlPolicy), wanted.caller.scopes, at);
    return {
      value: {
        ...value,
        ...changes,
        thresholds: { ...value.thresholds, ...thresholds },
        way,
      },
      action: "alert.changed",
      operations: [
        ...kept,
        ...(isMoved ? [remove(endpointHealth, key)] : []),
        ...(isRouted ? releaseHeld({ key, groups }) : []),
      ],
    };
  });
}

/** Id of the channel that events are sent to; `null` if they are polled. */
const channelOf = (way: DeliveryMethod): string | null | undefined =>
  way.by === "webhook" ? undefined : way.by === "channel" ? way.channelId : null;

/** Sends the events of an alert to a channel, or to none. */
function withChannel(way: DeliveryMethod, channelId: string | null): DeliveryMethod {
  if (way.by === "webhook") throw hasWebhookProblem();
  return channelId === null ? { by: "poll" } : { by: "channel", channelId };
}

/** Gives a webhook a URL, with the scopes of the credential that named it. A different URL must be
 *  verified. */
function withUrl(
  way: DeliveryMethod,
  url: string,
  scopes: ReadonlySet<Scope>,
  at: number,
): { readonly way: DeliveryMethod; readonly isMoved: boolean } {
  if (way.by !== "webhook") throw noWebhookProblem(way.by);
  const isMoved = way.url !== url;
  const state = isMoved ? pendingState(at) : way.state;
  return { way: { ...way, url, scopes: [...scopes], state }, isMoved };
}

/** Sends a new challenge to a webhook that is disabled or unverified. An active webhook is
 *  unchanged. */
export function enableAlert(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<StoredAlert> {
  const at = options.now().getTime();
  return applyChange(options, wanted, ({ key, value }) => {
    const { way } = value;
    if (way.by !== "webhook") throw noWebhookProblem(way.by);
    const state = way.state.is === "active" ? way.state : pendingState(at);
    return {
      value: { ...value, way: { ...way, state } },
      action: "alert.enabled",
      operations: [remove(endpointHealth, key)],
    };
  });
}

/** Gives a webhook a new signing secret. */
export async function rotateSecret(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<{ readonly alert: StoredAlert; readonly secret: string }> {
  let newSecret = "";
  const alert = await applyChange(options, wanted, ({ key, value }) => {
    const { way } = value;
    if (way.by !== "webhook") throw noWebhookProblem(way.by);
    const context = { alertId: key, vault: options.vault };
    const { secret, sealed } = nextSecret(way.secrets, context, options.now().getTime());
    newSecret = secret;
    return {
      value: { ...value, way: { ...way, secrets: sealed } },
      action: "alert.secret_rotated",
    };
  });
  return { alert, secret: newSecret };
}

/**
 * Commits a change, and retries if the alert was changed concurrently. A webhook that becomes
 * pending is sent its challenge; one that becomes active gets the deliveries that were held back.
 */
async function applyChange(
  options: AlertDependencies,
  { caller, alertId }: AlertRequest,
  change: (alert: StoredAlert) => Change | Promise<Change>,
): Promise<StoredAlert> {
  const { records, audit, now } = options;
  for (;;) {
    const before = await requireOwnAlert(options, caller, alertId);
    const { value, action, operations = [] } = await change(before);
    const after = { ...before, value };
    const challenge = challengeOf(after);
    const isChallenged = challenge !== undefined && challenge !== challengeOf(before);
    const isWritten = await records.commit([
      replace(alerts, before, { value }),
      ...operations,
      ...(isChallenged ? enqueueChallenge(after, now().getTime()) : []),
      ...(isSending(value) && !isSending(before.value) ? releaseHeld(after) : []),
      announce(ALERTS_TOPIC, alertId),
      ...audit({ action, actor: caller.id, target: alertId }),
    ]);
    if (isWritten) return after;
  }
}

function challengeOf({ value: { way } }: StoredAlert): string | undefined {
  return way.by === "webhook" && way.state.is === "pending" ? way.state.challenge : undefined;
}

/** Removes an alert with everything that belongs to it. */
export async function removeAlert(
  options: Pick<AlertDependencies, "records" | "audit">,
  alert: StoredAlert,
  by: string,
): Promise<boolean> {
  const { records, audit } = options;
  return records.commit([
    ...alertRemoval(alert),
    ...audit({ action: "alert.deleted", actor: by, target: alert.key }),
  ]);
}
