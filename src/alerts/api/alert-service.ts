import type { Caller } from "../../access/caller.ts";
import { transact } from "../../store/transact.ts";
import { accountAlertsGroup, type StoredAlert } from "../alert.ts";
import { SECRET_ROTATION_OVERLAP_MS } from "../delivery/signing.ts";
import {
  type AlertChanges,
  type AlertRequest,
  enableAlert,
  removeAlert,
  rotateSecret,
  updateAlert,
} from "./changes.ts";
import { countAlertChange } from "./count-change.ts";
import type { AlertDependencies } from "./dependencies.ts";
import {
  type AlertEvent,
  type EventPage,
  type EventQuery,
  readEventPage,
  readNewestEvents,
} from "./event-log.ts";
import {
  nextStepsAfterRegistration,
  nextStepsAfterRotation,
  nextStepsAfterSending,
  nextStepsWhilePending,
} from "./next-steps.ts";
import { findAlert, requireManageableAlert, requireOwnedAlert } from "./ownership.ts";
import {
  type AlertDetails,
  type AlertList,
  type AlertView,
  alertDetailsOf,
  alertViewOf,
  type DeliveryAttemptPage,
  lastSuccessfulDeliveryAt,
  listAlerts,
  listAlertsOfAccount,
  listDeliveryAttempts,
} from "./queries.ts";
import { redeliverEvent, redeliverSince, sendTestEvent } from "./redelivery.ts";
import { type AlertRegistrationRequest, createAlert } from "./register.ts";

/** An alert with the recommended next steps for its owner, as English sentences. */
interface AlertWithNextSteps extends AlertView {
  readonly nextSteps: readonly string[];
}

/** An alert with its new signing secret. */
export interface AlertWithSecret extends AlertWithNextSteps {
  /** Signing secret; absent when the alert has no webhook. */
  readonly secret?: string;
}

/** The result of redelivering failed events. */
interface RedeliveredAlert extends AlertWithNextSteps {
  /** Number of events that were queued for delivery. */
  readonly queued: number;
  /**
   * Instant from which the next request should continue, in milliseconds since the epoch;
   * `undefined` if no event remains.
   */
  readonly next: number | undefined;
}

/**
 * The operations that callers can perform on alerts. Except for `lastSuccess` and the
 * `...ForAccount` methods, every method works on alerts that the caller may access and throws the
 * problem `not_found` for any other alert. Instants are milliseconds since the epoch.
 *
 * Methods that change something count against the limit `changes` and may throw
 * `rate_limited`.
 */
export class AlertService {
  readonly #dependencies: AlertDependencies;

  constructor(dependencies: AlertDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Registers an alert, and returns the signing secret of its webhook if it has one.
   *
   * @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`.
   */
  async register(caller: Caller, registration: AlertRegistrationRequest): Promise<AlertWithSecret> {
    await this.#countChange(caller);
    const { alert, ...rest } = await createAlert(this.#dependencies, caller, registration);
    const view = await this.#view(alert);
    return { ...view, ...rest, nextSteps: nextStepsAfterRegistration(view, this.#dependencies) };
  }

  list(caller: Caller): Promise<AlertList> {
    return listAlerts(this.#dependencies, caller);
  }

  /** Finds an alert by id among the alerts that `list` returns. */
  async find(caller: Caller, alertId: string): Promise<AlertDetails> {
    const alert = await requireManageableAlert(this.#dependencies, caller, alertId);
    return alertDetailsOf(this.#dependencies, alert);
  }

  /**
   * Changes the settings of an alert. A new webhook URL must be verified.
   *
   * @throws {Problem} `invalid_request`, `wrong_state`.
   */
  async update(request: AlertRequest, changes: AlertChanges): Promise<AlertWithNextSteps> {
    await this.#countChange(request.caller);
    return pendingSteps(await this.#view(await updateAlert(this.#dependencies, request, changes)));
  }

  /** Sends a webhook its challenge again. @throws {Problem} `wrong_state`. */
  async enable(request: AlertRequest): Promise<AlertWithNextSteps> {
    await this.#countChange(request.caller);
    return pendingSteps(await this.#view(await enableAlert(this.#dependencies, request)));
  }

  /**
   * Replaces the signing secret of a webhook with a new one.
   *
   * @throws {Problem} `wrong_state`.
   */
  async rotateSecret(request: AlertRequest): Promise<AlertWithSecret> {
    await this.#countChange(request.caller);
    const { alert, secret } = await rotateSecret(this.#dependencies, request);
    const { now } = this.#dependencies;
    const nextSteps = nextStepsAfterRotation(now().getTime() + SECRET_ROTATION_OVERLAP_MS);
    return { ...(await this.#view(alert)), secret, nextSteps };
  }

  /** Removes one of the alerts that `list` returns. */
  async remove(request: AlertRequest): Promise<void> {
    const { caller, alertId } = request;
    const { records, audit } = this.#dependencies;
    await this.#countChange(caller);
    await transact(records, async (tx) => {
      await requireManageableAlert({ records: tx }, caller, alertId);
      removeAlert(tx, audit, { alertId, by: caller.id });
    });
  }

  /** Sends a test event. @throws {Problem} `wrong_state`. */
  async test(request: AlertRequest): Promise<AlertWithNextSteps & { readonly eventId: string }> {
    const { caller, alertId } = request;
    await requireOwnedAlert(this.#dependencies, caller, alertId);
    await this.#countChange(caller);
    const { alert, eventId } = await sendTestEvent(this.#dependencies, request);
    return { ...(await this.#view(alert)), eventId, nextSteps: nextStepsAfterSending };
  }

  /** Sends one event again. @throws {Problem} `wrong_state`. */
  async redeliver(request: AlertRequest, eventId: string): Promise<AlertWithNextSteps> {
    await this.#countChange(request.caller);
    const alert = await redeliverEvent(this.#dependencies, request, eventId);
    return { ...(await this.#view(alert)), nextSteps: nextStepsAfterSending };
  }

  /**
   * Redelivers the events that occurred since an instant, except those that were accepted or are
   * still queued, oldest first. One request considers at most 1,000 events.
   *
   * @throws {Problem} `wrong_state`.
   */
  async redeliverSince(request: AlertRequest, since: number): Promise<RedeliveredAlert> {
    await this.#countChange(request.caller);
    const { alert, queued, next } = await redeliverSince(this.#dependencies, request, since);
    return { ...(await this.#view(alert)), queued, next, nextSteps: nextStepsAfterSending };
  }

  async events(caller: Caller, query: EventQuery): Promise<EventPage> {
    const { alertId } = query;
    if (alertId !== undefined) await requireOwnedAlert(this.#dependencies, caller, alertId);
    return readEventPage(this.#dependencies, caller, query);
  }

  /** The newest events of an alert, newest first. */
  async newestEvents(
    { caller, alertId }: AlertRequest,
    limit: number,
  ): Promise<readonly AlertEvent[]> {
    await requireOwnedAlert(this.#dependencies, caller, alertId);
    return readNewestEvents(this.#dependencies, caller, { alertId, limit });
  }

  /** The attempts to deliver the events of an alert to its webhook or channel, newest first. */
  async attempts(
    { caller, alertId }: AlertRequest,
    page: { readonly cursor: string | undefined; readonly limit: number },
  ): Promise<DeliveryAttemptPage> {
    await requireOwnedAlert(this.#dependencies, caller, alertId);
    return listDeliveryAttempts(this.#dependencies, alertId, page);
  }

  /**
   * All alerts of an account, oldest first: those of the person, their agents and their API keys.
   */
  listForAccount(accountId: string): Promise<readonly AlertView[]> {
    return listAlertsOfAccount(this.#dependencies, accountId);
  }

  /**
   * When the webhook or channel of an alert last accepted a delivery, in milliseconds since the
   * epoch; `undefined` if there was no recent success.
   */
  lastSuccess(alertId: string): Promise<number | undefined> {
    return lastSuccessfulDeliveryAt(this.#dependencies, alertId);
  }

  /** Removes an alert of an account. @returns Whether the alert belonged to the account. */
  removeForAccount(accountId: string, alertId: string): Promise<boolean> {
    const { records, audit } = this.#dependencies;
    return transact(records, async (tx) => {
      const alert = await findAlert({ records: tx }, alertId);
      if (!alert?.groups.includes(accountAlertsGroup(accountId))) return false;
      removeAlert(tx, audit, { alertId, by: accountId });
      return true;
    });
  }

  #view(alert: Pick<StoredAlert, "key" | "value">): Promise<AlertView> {
    return alertViewOf(this.#dependencies, alert);
  }

  #countChange(caller: Caller): Promise<void> {
    return countAlertChange(this.#dependencies.limits, caller);
  }
}

const pendingSteps = (alert: AlertView): AlertWithNextSteps => ({
  ...alert,
  nextSteps: nextStepsWhilePending(alert),
});
