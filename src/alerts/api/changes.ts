import type { Caller } from "../../auth/caller.ts";
import { announce, remove, replace } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  alerts,
  isSending,
  type StoredAlert,
  type Thresholds,
  type Way,
} from "../alert.ts";
import { enqueueChallenge } from "../delivery/delivery.ts";
import { endpointHealth } from "../delivery/endpoint-health.ts";
import { releaseHeld } from "../delivery/held-deliveries.ts";
import { nextSecret } from "../delivery/signing.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { requireOwnAlert, withoutAlert } from "./ownership.ts";
import { pendingState } from "./register.ts";
import { noWebhook, validateTimes, validateWebhookUrl } from "./validation.ts";

/** An alert and who wants something of it. */
export interface AlertRequest {
  readonly caller: Caller;
  readonly alertId: string;
}

/** What of an alert is to be another; what is absent stays. */
export interface AlertChanges
  extends Partial<
    Pick<Alert, "label" | "kinds" | "watched" | "expiresAt" | "snoozedUntil" | "isPaused">
  > {
  readonly thresholds?: Partial<Thresholds>;
  readonly url?: string;
}

/** What becomes of an alert. */
interface Outcome {
  readonly value: Alert;
  /** What was done, for the audit. */
  readonly action: string;
  /** Whatever goes with it. */
  readonly steps?: readonly Operation[];
}

/**
 * Changes an alert. A webhook that gets another address is pending again.
 *
 * @throws {Problem} `not_found`, `invalid_request`; `wrong_state` for the address of none.
 */
export function update(
  options: AlertDependencies,
  wanted: AlertRequest,
  { thresholds, url, ...changes }: AlertChanges,
): Promise<StoredAlert> {
  const { now, urlPolicy } = options;
  return applyChange(options, wanted, ({ key, value }) => {
    const at = now().getTime();
    validateTimes(changes, at);
    const { way, isMoved } =
      url === undefined
        ? { way: value.way, isMoved: false }
        : named(
            { url: validateWebhookUrl(url, urlPolicy), scopes: [...wanted.caller.scopes] },
            value.way,
            at,
          );
    return {
      value: {
        ...value,
        ...changes,
        thresholds: { ...value.thresholds, ...thresholds },
        way,
      },
      action: "alert.changed",
      ...(isMoved && { steps: [remove(endpointHealth, key)] }),
    };
  });
}

/** Where a webhook goes, and what the credential held that named it. */
type Place = Pick<Extract<Way, { by: "webhook" }>, "url" | "scopes">;

/** A webhook whose address is named again; another one must be verified. */
function named(
  place: Place,
  way: Way,
  at: number,
): { readonly way: Way; readonly isMoved: boolean } {
  if (way.by === "poll") throw noWebhook();
  const isMoved = way.url !== place.url;
  return { way: { ...way, ...place, ...(isMoved && { state: pendingState(at) }) }, isMoved };
}

/**
 * Lets a webhook that was disabled, or was not verified in time, be asked again whether it wants
 * events. An active one stays as it is.
 */
export function enable(options: AlertDependencies, wanted: AlertRequest): Promise<StoredAlert> {
  const at = options.now().getTime();
  return applyChange(options, wanted, ({ key, value }) => {
    const { way } = value;
    if (way.by === "poll") throw noWebhook();
    const state = way.state.is === "active" ? way.state : pendingState(at);
    return {
      value: { ...value, way: { ...way, state } },
      action: "alert.enabled",
      steps: [remove(endpointHealth, key)],
    };
  });
}

/** Gives a webhook another secret. */
export async function rotateSecret(
  options: AlertDependencies,
  wanted: AlertRequest,
): Promise<{ readonly alert: StoredAlert; readonly secret: string }> {
  let told = "";
  const alert = await applyChange(options, wanted, ({ key, value }) => {
    const { way } = value;
    if (way.by === "poll") throw noWebhook();
    const place = { alertId: key, vault: options.vault };
    const { secret, sealed } = nextSecret(way.secrets, place, options.now().getTime());
    told = secret;
    return {
      value: { ...value, way: { ...way, secrets: sealed } },
      action: "alert.secret_rotated",
    };
  });
  return { alert, secret: told };
}

/** Writes what becomes of an alert until nobody else wrote in between. A webhook that becomes pending
 *  is sent its challenge, and one that becomes open whatever was held back for it. */
async function applyChange(
  options: AlertDependencies,
  { caller, alertId }: AlertRequest,
  change: (alert: StoredAlert) => Outcome,
): Promise<StoredAlert> {
  const { records, audit, now } = options;
  for (;;) {
    const before = await requireOwnAlert(options, caller, alertId);
    const { value, action, steps = [] } = change(before);
    const after = { ...before, value };
    const isAsked = challengeOf(after) !== undefined && challengeOf(after) !== challengeOf(before);
    const isDone = await records.commit([
      replace(alerts, before, { value }),
      ...steps,
      ...(isAsked ? enqueueChallenge(after, now().getTime()) : []),
      ...(isSending(value) && !isSending(before.value) ? releaseHeld(after) : []),
      announce(ALERTS_TOPIC, alertId),
      ...audit({ action, actor: caller.id, target: alertId }),
    ]);
    if (isDone) return after;
  }
}

function challengeOf({ value: { way } }: StoredAlert): string | undefined {
  return way.by === "webhook" && way.state.is === "pending" ? way.state.challenge : undefined;
}

/** Removes an alert with everything that goes with it. */
export async function removeAlert(
  options: Pick<AlertDependencies, "records" | "audit">,
  alert: StoredAlert,
  by: string,
): Promise<boolean> {
  const { records, audit } = options;
  return records.commit([
    ...withoutAlert(alert),
    ...audit({ action: "alert.deleted", actor: by, target: alert.key }),
  ]);
}
