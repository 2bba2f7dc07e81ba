import type { Logger } from "pino";
import { createAuditor } from "../auth/auditor.ts";
import { currentScopes } from "../auth/entitlement.ts";
import type { Config } from "../config/config.ts";
import { schedule } from "../lib/loop.ts";
import type { Limits } from "../limits/quotas.ts";
import { createOutbox } from "../mail/outbox.ts";
import type { GuardedFetchOptions } from "../outbound/guarded-fetch.ts";
import { createWebhookPolicy } from "../outbound/webhook-policy.ts";
import type { State } from "../state.ts";
import { createKeyringVault } from "../store/keys/keyring-vault.ts";
import type { LeaderJob } from "../store/maintenance.ts";
import { measuredSender } from "../telemetry/instrumented.ts";
import { type Meters, NO_METERS } from "../telemetry/meters.ts";
import type { Owner } from "./alert.ts";
import { AlertService } from "./api/alert-service.ts";
import type { AlertDependencies } from "./api/dependencies.ts";
import { type EventLog, eventLogOf } from "./api/event-log.ts";
import type { ChannelOutlets } from "./channels/channel-attempt.ts";
import { Channels } from "./channels/channels.ts";
import { DigestGathering } from "./channels/make-digest.ts";
import { createChatServices } from "./channels/services/chat-services.ts";
import { UnsubscribeTokens, Unsubscribing, unsubscribeUrl } from "./channels/unsubscribing.ts";
import { createSender } from "./delivery/sender.ts";
import { type WebhookKeySet, webhookKeySet } from "./delivery/webhook-keys.ts";
import { DeliveryWorker } from "./delivery/worker.ts";
import { AlertEvaluator, type EvaluatorOptions } from "./rules/evaluate-sessions.ts";
import { Watchlists } from "./watchlists/watchlists.ts";

/** Pause between two polls for closed sessions that are not evaluated yet, in milliseconds. */
const EVALUATE_EVERY_MS = 100;

/** Dependencies of the alerts. */
export interface AlertsOptions extends Pick<AlertDependencies, "now" | "baseUrl" | "standsStill"> {
  readonly config: Pick<Config, "webhooks" | "telegramUrl">;
  readonly state: State;
  /** Display name of the service. */
  readonly serviceName: string;
  readonly market: EvaluatorOptions["market"];
  readonly snapshots: EvaluatorOptions["snapshots"];
  /** Instant up to which sessions have been scored, Unix milliseconds; never decreases. */
  readonly knownUntil: () => number;
  readonly limits: Limits;
  readonly log: Logger;
  /** Absent: nothing is measured. */
  readonly meters?: Meters;
  /** Replaces the settings about which addresses are allowed; for tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
}

/** The parts of alerts that run. */
export interface Alerts {
  readonly service: AlertService;
  readonly watchlists: Watchlists;
  readonly channels: Channels;
  readonly unsubscribing: Unsubscribing;
  readonly eventLog: EventLog;
  /** The public keys that verify deliveries. */
  readonly keySet: () => WebhookKeySet;
  /** Evaluates closed sessions, in the process that leads. */
  readonly leaderJob: LeaderJob;
  /** Starts the delivery worker. */
  start(): void;
  /** Stops the deliveries; nothing is sent afterwards. */
  stop(): Promise<void>;
}

/** Builds the alert service, the evaluator that finds events, and the worker that delivers them. */
export function createAlerts(options: AlertsOptions): Alerts {
  const { config, state, limits, now, log, baseUrl, serviceName } = options;
  const { records, archive } = state.store;
  const { keys, hashAddress } = state.keyring;
  const audit = createAuditor({ hashAddress, now });
  const vault = createKeyringVault(state.keyring);
  const { allowsInsecure, proxy } = config.webhooks;
  const warn = (message: string) => log.warn(message);
  const urlPolicy = options.outbound ?? createWebhookPolicy({ allowsInsecure, warn });
  const scopesOf = (owner: Owner) => currentScopes(records, owner);
  const common = { records, archive, audit, vault, limits, now, scopesOf };

  const tokens = new UnsubscribeTokens(state.deriveKey("channel-unsubscribe"));
  const outlets: ChannelOutlets = {
    serviceName,
    baseUrl,
    chat: createChatServices(config.telegramUrl),
    mailbox: createOutbox({ vault, now }),
    gathering: new DigestGathering(),
    unsubscribeUrl: (channelId) => unsubscribeUrl(baseUrl, tokens.tokenOf(channelId)),
  };
  const outbound = createSender({ ...urlPolicy, proxy, now: () => now().getTime() });
  const sender = measuredSender(outbound, options.meters ?? NO_METERS);
  const worker = new DeliveryWorker({
    ...common,
    sender,
    channels: outlets,
    schedule,
    random: Math.random,
    keys: () => keys("webhook-signing").map(({ jwk }) => jwk),
    monotonic: () => performance.now(),
    onError: (error) =>
      log.error({ err: error }, "a delivery could not be attempted; it is retried"),
  });
  const evaluator = new AlertEvaluator({ ...options, ...common });
  return {
    service: new AlertService({ ...options, ...common, urlPolicy }),
    watchlists: new Watchlists(common),
    channels: new Channels({ ...common, ...outlets, urlPolicy }),
    unsubscribing: new Unsubscribing({ ...common, tokens }),
    eventLog: eventLogOf({ records, archive, vault, now }),
    keySet: () => webhookKeySet(keys("webhook-signing")),
    leaderJob: { tick: () => evaluator.tick(), everyMs: EVALUATE_EVERY_MS },
    start: () => worker.start(),
    async stop() {
      await worker.stop();
      await sender.close();
    },
  };
}
