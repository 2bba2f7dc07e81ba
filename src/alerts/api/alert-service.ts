import type { Caller } from "../../auth/caller.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import { refusalOf } from "../../limits/refusal.ts";
import { answeredForBy, makerKey } from "../alert.ts";
import { OVERLAP_MS } from "../delivery/secrets.ts";
import { type Changes, enable, removeAlert, rotateSecret, update, type Wanted } from "./changes.ts";
import type { DeskOptions } from "./dependencies.ts";
import { type EventPage, type EventsAsked, eventPage } from "./event-log.ts";
import {
  stepsAfterRegistration,
  stepsAfterRotation,
  stepsAfterSending,
  stepsWhilePending,
} from "./next-steps.ts";
import { alertBy, answerableAlert, ownAlert } from "./ownership.ts";
import {
  type AttemptPage,
  alertsOf,
  answeredFor,
  attemptsOf,
  type InspectedAlert,
  inspected,
  type ListedAlerts,
  lastSuccess,
  type SeenAlert,
  seen,
} from "./queries.ts";
import { redeliver, redeliverSince, sendTest } from "./redelivery.ts";
import { type Registration, register } from "./register.ts";

/** An alert with what its owner can do next, in words. */
interface Advised extends SeenAlert {
  readonly nextSteps: readonly string[];
}

/** An alert whose signing secret is told. */
export interface Confided extends Advised {
  /** Absent: it has no webhook. */
  readonly secret?: string;
}

/**
 * Alerts as callers have them. Every method but those for accounts is about the caller's own; for
 * another's alert it throws the problem `not_found`. Instants are milliseconds since the epoch.
 *
 * Whatever changes something counts against `alert-change` and may throw `rate_limited`.
 */
export interface Desk {
  /** @throws {Problem} `invalid_request`, `alert_limit`, `idempotency_key_reused`. */
  register(caller: Caller, registration: Registration): Promise<Confided>;
  list(caller: Caller): Promise<ListedAlerts>;
  /** One of those that `list` gives. */
  find(caller: Caller, alertId: string): Promise<InspectedAlert>;
  /** @throws {Problem} `invalid_request`, `wrong_state`. */
  update(wanted: Wanted, changes: Changes): Promise<Advised>;
  /** Asks a webhook again whether it wants events. @throws {Problem} `wrong_state`. */
  enable(wanted: Wanted): Promise<Advised>;
  /** @throws {Problem} `wrong_state`. */
  rotateSecret(wanted: Wanted): Promise<Confided>;
  /** @throws {Problem} `wrong_state`. */
  test(wanted: Wanted): Promise<Advised & { readonly eventId: string }>;
  /** Sends an event once more. @throws {Problem} `wrong_state`. */
  redeliver(wanted: Wanted, eventId: string): Promise<Advised>;
  /** Sends the events once more that failed, the oldest 1,000. @throws {Problem} `wrong_state`. */
  redeliverSince(
    wanted: Wanted,
    since: number,
  ): Promise<
    Advised & {
      readonly queued: number;
      /** Where to go on; `undefined`: that was all. */
      readonly next: number | undefined;
    }
  >;
  /** Removes one of those that `list` gives. */
  remove(wanted: Wanted): Promise<void>;
  events(caller: Caller, asked: EventsAsked): Promise<EventPage>;
  attempts(
    wanted: Wanted,
    asked: { readonly cursor: string | undefined; readonly limit: number },
  ): Promise<AttemptPage>;
  /** What a person answers for: their own alerts, their agents' and their keys'; oldest first. */
  answeredFor(accountId: string): Promise<readonly SeenAlert[]>;
  /** When the webhook of one of them last took something; `undefined`: not lately. */
  lastSuccess(alertId: string): Promise<number | undefined>;
  /** Removes one of them. @returns Whether there was one. */
  removeFor(accountId: string, alertId: string): Promise<boolean>;
}

/** Creates the desk. */
export function createDesk(options: DeskOptions): Desk {
  return { ...readers(options), ...writers(options), ...senders(options), ...forAccounts(options) };
}

function readers(options: DeskOptions): Pick<Desk, "list" | "find" | "events" | "attempts"> {
  return {
    list: (caller) => alertsOf(options, caller),
    find: async (caller, alertId) =>
      inspected(options, await answerableAlert(options, caller, alertId)),
    async events(caller, asked) {
      if (asked.alertId !== undefined) await ownAlert(options, caller, asked.alertId);
      return eventPage(options, caller, asked);
    },
    async attempts({ caller, alertId }, asked) {
      await ownAlert(options, caller, alertId);
      return attemptsOf(options, alertId, asked);
    },
  };
}

function writers(
  options: DeskOptions,
): Pick<Desk, "register" | "update" | "enable" | "rotateSecret" | "remove"> {
  const { now } = options;
  return {
    async register(caller, registration) {
      await admit(options, caller);
      const { alert, ...rest } = await register(options, caller, registration);
      const shown = seen(alert, now);
      return { ...shown, ...rest, nextSteps: stepsAfterRegistration(shown, options) };
    },
    async update(wanted, changes) {
      await admit(options, wanted.caller);
      return pendingAdvice(seen(await update(options, wanted, changes), now));
    },
    async enable(wanted) {
      await admit(options, wanted.caller);
      return pendingAdvice(seen(await enable(options, wanted), now));
    },
    async rotateSecret(wanted) {
      await admit(options, wanted.caller);
      const { alert, secret } = await rotateSecret(options, wanted);
      const nextSteps = stepsAfterRotation(now().getTime() + OVERLAP_MS);
      return { ...seen(alert, now), secret, nextSteps };
    },
    async remove(wanted) {
      await admit(options, wanted.caller);
      const { caller, alertId } = wanted;
      for (;;) {
        const alert = await answerableAlert(options, caller, alertId);
        if (await removeAlert(options, alert, caller.id)) return;
      }
    },
  };
}

const pendingAdvice = (alert: SeenAlert): Advised => ({
  ...alert,
  nextSteps: stepsWhilePending(alert),
});

function senders(options: DeskOptions): Pick<Desk, "test" | "redeliver" | "redeliverSince"> {
  const { now } = options;
  return {
    async test(wanted) {
      const { caller, alertId } = wanted;
      await ownAlert(options, caller, alertId);
      await admit(options, caller, ["alert-test", alertId]);
      const { alert, eventId } = await sendTest(options, wanted);
      return { ...seen(alert, now), eventId, nextSteps: stepsAfterSending };
    },
    async redeliver(wanted, eventId) {
      await admit(options, wanted.caller);
      const alert = await redeliver(options, wanted, eventId);
      return { ...seen(alert, now), nextSteps: stepsAfterSending };
    },
    async redeliverSince(wanted, since) {
      await admit(options, wanted.caller);
      const { alert, queued, next } = await redeliverSince(options, wanted, since);
      return { ...seen(alert, now), queued, next, nextSteps: stepsAfterSending };
    },
  };
}

function forAccounts(
  options: DeskOptions,
): Pick<Desk, "answeredFor" | "lastSuccess" | "removeFor"> {
  return {
    answeredFor: (accountId) => answeredFor(options, accountId),
    lastSuccess: (alertId) => lastSuccess(options, alertId),
    async removeFor(accountId, alertId) {
      for (;;) {
        const alert = await alertBy(options, alertId);
        if (!alert?.groups.includes(answeredForBy(accountId))) return false;
        if (await removeAlert(options, alert, accountId)) return true;
      }
    },
  };
}

/** Counts a change. @throws {Problem} `rate_limited`. */
async function admit(
  { limits }: DeskOptions,
  caller: Caller,
  ...more: readonly Counter[]
): Promise<void> {
  const refusal = refusalOf(
    await countInOrder(limits, [["alert-change", makerKey(caller)], ...more]),
  );
  if (refusal !== undefined) throw refusal;
}
