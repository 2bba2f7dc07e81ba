import type { Logger } from "pino";
import { createAuditor } from "../auth/auditor.ts";
import { heldScopes } from "../auth/entitlement.ts";
import type { Config } from "../config/config.ts";
import type { EventLog } from "../http/api/alert-stream.ts";
import { schedule } from "../lib/loop.ts";
import type { Limits } from "../limits/limits.ts";
import { createKeyringVault } from "../mail/keyring-vault.ts";
import type { GuardedFetchOptions } from "../outbound/guarded-fetch.ts";
import { createWebhookPolicy } from "../outbound/webhook-policy.ts";
import type { State } from "../state.ts";
import type { LeaderJob } from "../store/maintenance.ts";
import { measuredSender } from "../telemetry/instrumented.ts";
import { type Meters, NO_METERS } from "../telemetry/meters.ts";
import type { Owner } from "./alert.ts";
import { type AlertService, createAlertService } from "./api/alert-service.ts";
import type { AlertDependencies } from "./api/dependencies.ts";
import { cursorOf, endOfEvents, eventPage, type LogOptions } from "./api/event-log.ts";
import { EVENTS_TOPIC } from "./delivery/delivery.ts";
import { createSender } from "./delivery/sender.ts";
import { type WebhookKeySet, webhookKeySet } from "./delivery/webhook-keys.ts";
import { DeliveryWorker } from "./delivery/worker.ts";
import { AlertEvaluator, type EvaluatorOptions } from "./rules/evaluator.ts";

/** Pause between two looks for sessions that closed and are not decided about yet, in milliseconds. */
const EVALUATE_EVERY_MS = 100;

/** What alerts are built from. */
export interface AlertsOptions extends Pick<AlertDependencies, "now" | "baseUrl" | "standsStill"> {
  readonly config: Pick<Config, "webhooks">;
  readonly state: State;
  readonly market: EvaluatorOptions["market"];
  readonly snapshots: EvaluatorOptions["snapshots"];
  /** Instant up to which sessions have been scored, Unix milliseconds, never falling. */
  readonly knownUntil: () => number;
  readonly limits: Limits;
  readonly log: Logger;
  /** Absent: nothing is measured. */
  readonly meters?: Pick<Meters, "attempt">;
  /** What of the internet may be asked, in place of what the settings say; for tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
}

/** Everything about alerts that runs. */
export interface Alerts {
  readonly service: AlertService;
  readonly eventLog: EventLog;
  /** The public keys of what is sent. */
  readonly keySet: () => WebhookKeySet;
  /** What the leader does. */
  readonly leaderJob: LeaderJob;
  /** Begins to send. */
  start(): void;
  /** Nothing is sent after this. */
  stop(): Promise<void>;
}

/** Builds the desk that takes alerts, the decision that finds events, and the courier that sends
 *  them. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { config, state, limits, now, log } = options;
  const { records, archive } = state.store;
  const { keys, hashAddress } = state.keyring;
  const audit = createAuditor({ hashAddress, now });
  const vault = createKeyringVault(state.keyring);
  const { allowsInsecure, proxy } = config.webhooks;
  const warn = (message: string) => log.warn(message);
  const urlPolicy = options.outbound ?? createWebhookPolicy({ allowsInsecure, warn });
  const scopesOf = (owner: Owner) => heldScopes(records, owner);
  const common = { records, archive, audit, vault, limits, now, scopesOf };

  const outbound = createSender({ ...urlPolicy, proxy, now: () => now().getTime() });
  const sender = measuredSender(outbound, options.meters ?? NO_METERS);
  const worker = new DeliveryWorker({
    ...{ ...common, sender, schedule, random: Math.random },
    keys: () => keys("webhook-signing").map(({ jwk }) => jwk),
    monotonic: () => performance.now(),
    onError: (error) => log.error({ err: error }, "a delivery could not be carried; it is retried"),
  });
  const evaluator = new AlertEvaluator({ ...options, ...common });
  return {
    service: createAlertService({ ...options, ...common, urlPolicy }),
    eventLog: eventLogOf({ records, archive, now }, state),
    keySet: () => webhookKeySet(keys("webhook-signing")),
    leaderJob: { tick: () => evaluator.tick(), everyMs: EVALUATE_EVERY_MS },
    start: () => worker.start(),
    async stop() {
      await worker.stop();
      await sender.close();
    },
  };
}

/** The events of alerts as streams read them. */
function eventLogOf(options: LogOptions, { store: { records } }: State): EventLog {
  return {
    async after(reader, cursor, limit) {
      const page = await eventPage(options, reader, { cursor, limit });
      const events = page.events.map((event) => ({ ...event, cursor: cursorOf(event) }));
      return { events, cursor: page.cursor ?? cursor, hasMore: page.hasMore };
    },
    end: (reader) => endOfEvents(options, reader),
    onNews: (listener) => records.onAnnounce(EVENTS_TOPIC, () => listener()),
  };
}
