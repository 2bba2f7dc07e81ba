import type { Caller } from "../../auth/caller.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import { refusalOf } from "../../limits/refusal.ts";
import { accountGroup, makerKey } from "../alert.ts";
import { SECRET_OVERLAP_MS } from "../delivery/signing.ts";
import {
  type AlertChanges,
  type AlertRequest,
  enable,
  removeAlert,
  rotateSecret,
  update,
} from "./changes.ts";
import type { AlertDependencies } from "./dependencies.ts";
import { type EventPage, type EventQuery, eventPage } from "./event-log.ts";
import {
  stepsAfterRegistration,
  stepsAfterRotation,
  stepsAfterSending,
  stepsWhilePending,
} from "./next-steps.ts";
import { findAlert, requireManageableAlert, requireOwnAlert } from "./ownership.ts";
import {
  type AlertDetails,
  type AlertList,
  type AlertView,
  type AttemptPage,
  detailsOf,
  lastSuccess,
  listAlerts,
  listAttempts,
  listForAccount,
  viewOf,
} from "./queries.ts";
import { redeliver, redeliverSince, sendTest } from "./redelivery.ts";
import { type Registration, register } from "./register.ts";

/** An alert with what its owner can do next, in words. */
interface AlertWithNextSteps extends AlertView {
  readonly nextSteps: readonly string[];
}

/** An alert whose signing secret is told. */
export interface AlertWithSecret extends AlertWithNextSteps {
  /** Absent: it has no webhook. */
  readonly secret?: string;
}

/**
 * Alerts as callers have them. Every method but those for accounts is about the caller's own; for
 * another's alert it throws the problem `not_found`. Instants are milliseconds since the epoch.
 *
 * Whatever changes something counts against `alert-change` and may throw `rate_limited`.
 */
export interface AlertService {
  /** @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`. */
  register(caller: Caller, registration: Registration): Promise<AlertWithSecret>;
  list(caller: Caller): Promise<AlertList>;
  /** One of those that `list` gives. */
  find(caller: Caller, alertId: string): Promise<AlertDetails>;
  /** @throws {Problem} `invalid_request`, `wrong_state`. */
  update(wanted: AlertRequest, changes: AlertChanges): Promise<AlertWithNextSteps>;
  /** Asks a webhook again whether it wants events. @throws {Problem} `wrong_state`. */
  enable(wanted: AlertRequest): Promise<AlertWithNextSteps>;
  /** @throws {Problem} `wrong_state`. */
  rotateSecret(wanted: AlertRequest): Promise<AlertWithSecret>;
  /** @throws {Problem} `wrong_state`. */
  test(wanted: AlertRequest): Promise<AlertWithNextSteps & { readonly eventId: string }>;
  /** Sends an event once more. @throws {Problem} `wrong_state`. */
  redeliver(wanted: AlertRequest, eventId: string): Promise<AlertWithNextSteps>;
  /** Sends the events once more that failed, the oldest 1,000. @throws {Problem} `wrong_state`. */
  redeliverSince(
    wanted: AlertRequest,
    since: number,
  ): Promise<
    AlertWithNextSteps & {
      readonly queued: number;
      /** Where to go on; `undefined`: that was all. */
      readonly next: number | undefined;
    }
  >;
  /** Removes one of those that `list` gives. */
  remove(wanted: AlertRequest): Promise<void>;
  events(caller: Caller, asked: EventQuery): Promise<EventPage>;
  attempts(
    wanted: AlertRequest,
    asked: { readonly cursor: string | undefined; readonly limit: number },
  ): Promise<AttemptPage>;
  /** What a person answers for: their own alerts, their agents' and their keys'; oldest first. */
  listForAccount(accountId: string): Promise<readonly AlertView[]>;
  /** When the webhook of one of them last took something; `undefined`: not lately. */
  lastSuccess(alertId: string): Promise<number | undefined>;
  /** Removes one of them. @returns Whether there was one. */
  removeForAccount(accountId: string, alertId: string): Promise<boolean>;
}

/** Creates the desk. */
export function createAlertService(options: AlertDependencies): AlertService {
  return { ...readers(options), ...writers(options), ...senders(options), ...forAccounts(options) };
}

function readers(
  options: AlertDependencies,
): Pick<AlertService, "list" | "find" | "events" | "attempts"> {
  return {
    list: (caller) => listAlerts(options, caller),
    find: async (caller, alertId) =>
      detailsOf(options, await requireManageableAlert(options, caller, alertId)),
    async events(caller, asked) {
      if (asked.alertId !== undefined) await requireOwnAlert(options, caller, asked.alertId);
      return eventPage(options, caller, asked);
    },
    async attempts({ caller, alertId }, asked) {
      await requireOwnAlert(options, caller, alertId);
      return listAttempts(options, alertId, asked);
    },
  };
}

function writers(
  options: AlertDependencies,
): Pick<AlertService, "register" | "update" | "enable" | "rotateSecret" | "remove"> {
  const { now } = options;
  return {
    async register(caller, registration) {
      await admit(options, caller);
      const { alert, ...rest } = await register(options, caller, registration);
      const shown = viewOf(alert, now);
      return { ...shown, ...rest, nextSteps: stepsAfterRegistration(shown, options) };
    },
    async update(wanted, changes) {
      await admit(options, wanted.caller);
      return pendingAdvice(viewOf(await update(options, wanted, changes), now));
    },
    async enable(wanted) {
      await admit(options, wanted.caller);
      return pendingAdvice(viewOf(await enable(options, wanted), now));
    },
    async rotateSecret(wanted) {
      await admit(options, wanted.caller);
      const { alert, secret } = await rotateSecret(options, wanted);
      const nextSteps = stepsAfterRotation(now().getTime() + SECRET_OVERLAP_MS);
      return { ...viewOf(alert, now), secret, nextSteps };
    },
    async remove(wanted) {
      await admit(options, wanted.caller);
      const { caller, alertId } = wanted;
      for (;;) {
        const alert = await requireManageableAlert(options, caller, alertId);
        if (await removeAlert(options, alert, caller.id)) return;
      }
    },
  };
}

const pendingAdvice = (alert: AlertView): AlertWithNextSteps => ({
  ...alert,
  nextSteps: stepsWhilePending(alert),
});

function senders(
  options: AlertDependencies,
): Pick<AlertService, "test" | "redeliver" | "redeliverSince"> {
  const { now } = options;
  return {
    async test(wanted) {
      const { caller, alertId } = wanted;
      await requireOwnAlert(options, caller, alertId);
      await admit(options, caller, ["alert-test", alertId]);
      const { alert, eventId } = await sendTest(options, wanted);
      return { ...viewOf(alert, now), eventId, nextSteps: stepsAfterSending };
    },
    async redeliver(wanted, eventId) {
      await admit(options, wanted.caller);
      const alert = await redeliver(options, wanted, eventId);
      return { ...viewOf(alert, now), nextSteps: stepsAfterSending };
    },
    async redeliverSince(wanted, since) {
      await admit(options, wanted.caller);
      const { alert, queued, next } = await redeliverSince(options, wanted, since);
      return { ...viewOf(alert, now), queued, next, nextSteps: stepsAfterSending };
    },
  };
}

function forAccounts(
  options: AlertDependencies,
): Pick<AlertService, "listForAccount" | "lastSuccess" | "removeForAccount"> {
  return {
    listForAccount: (accountId) => listForAccount(options, accountId),
    lastSuccess: (alertId) => lastSuccess(options, alertId),
    async removeForAccount(accountId, alertId) {
      for (;;) {
        const alert = await findAlert(options, alertId);
        if (!alert?.groups.includes(accountGroup(accountId))) return false;
        if (await removeAlert(options, alert, accountId)) return true;
      }
    },
  };
}

/** Counts a change. @throws {Problem} `rate_limited`. */
async function admit(
  { limits }: AlertDependencies,
  caller: Caller,
  ...more: readonly Counter[]
): Promise<void> {
  const refusal = refusalOf(
    await countInOrder(limits, [["alert-change", makerKey(caller)], ...more]),
  );
  if (refusal !== undefined) throw refusal;
}
