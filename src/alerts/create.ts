import type { Logger } from "pino";
import { createAuditor } from "../access/auditor.ts";
import { currentScopesOf } from "../auth/entitlement.ts";
import type { Keyring } from "../keys/keyring.ts";
import { scheduleTimer } from "../lib/loop.ts";
import type { LimitOverrides } from "../limits/classes.ts";
import type { Limits } from "../limits/limits.ts";
import type { Outbox } from "../mail/outbox.ts";
import type { LeaderJob } from "../maintenance/maintenance.ts";
import type { GuardedFetchOptions } from "../outbound/guarded-fetch.ts";
import { createWebhookPolicy } from "../outbound/webhook-policy.ts";
import type { Store } from "../store/port/store.ts";
import { type Meters, NO_METERS } from "../telemetry/meters.ts";
import type { AlertOwner } from "./alert.ts";
import { AlertService } from "./api/alert-service.ts";
import type { AlertDependencies } from "./api/dependencies.ts";
import { createEventLog, type EventLog } from "./api/event-log.ts";
import { AlertCapacity } from "./capacity.ts";
import type { ChannelDependencies } from "./channels/channel-endpoint.ts";
import { ChannelService } from "./channels/channels.ts";
import { UnsubscribeService, UnsubscribeTokens, unsubscribeUrl } from "./channels/unsubscribing.ts";
import { measuredSender } from "./delivery/measured-sender.ts";
import { webhookUrlKeysOf } from "./delivery/sealed-webhook-url.ts";
import { createWebhookSender } from "./delivery/sender.ts";
import { toWebhookKeySet, type WebhookKeySet } from "./delivery/webhook-keys.ts";
import { DeliveryWorker } from "./delivery/worker.ts";
import { AlertEvaluator, type AlertEvaluatorOptions } from "./rules/evaluate-sessions.ts";
import { WatchlistService } from "./watchlists/watchlists.ts";

/** Pause between two polls for closed sessions that have not been evaluated, in milliseconds. */
const EVALUATE_EVERY_MS = 100;

/** Settings of the alerts. */
export interface AlertSettings {
  readonly webhooks: {
    /** Whether webhook URLs may use `http:` and point to this machine; for development. */
    readonly allowsInsecure: boolean;
    /** URL of the proxy for all webhooks; `undefined` for none. */
    readonly proxy: string | undefined;
  };
  /** Origin of the Telegram Bot API server. */
  readonly telegramUrl: string;
  /** Numbers of limits that replace their defaults. */
  readonly rateLimits: Pick<LimitOverrides, "alerts">;
}

/** Dependencies of `createAlertSystem`. */
interface AlertSystemOptions extends Pick<AlertDependencies, "now" | "baseUrl" | "standsStill"> {
  readonly settings: AlertSettings;
  readonly store: Store;
  readonly keyring: Keyring;
  /** Derives a key of 32 bytes for one purpose from the master key. */
  readonly deriveKey: (purpose: string) => Uint8Array;
  /** Display name of the service. */
  readonly serviceName: string;
  readonly market: AlertEvaluatorOptions["market"];
  readonly snapshots: AlertEvaluatorOptions["snapshots"];
  /**
   * Instant up to which sessions have been scored, in milliseconds since the epoch; never
   * decreases.
   */
  readonly knownUntil: () => number;
  readonly limits: Limits;
  readonly mailbox: Outbox;
  readonly log: Logger;
  /** Metrics to update; absent to record none. */
  readonly meters?: Meters;
  /** Overrides which addresses outbound requests may reach; for tests. */
  readonly outbound?: GuardedFetchOptions | undefined;
}

/** The running parts of the alert feature. */
export interface AlertSystem {
  readonly service: AlertService;
  readonly watchlists: WatchlistService;
  readonly channels: ChannelService;
  readonly unsubscribing: UnsubscribeService;
  readonly eventLog: EventLog;
  /** The public keys with which receivers verify deliveries. */
  readonly keySet: () => WebhookKeySet;
  /** Evaluates closed sessions; runs only in the leader process. */
  readonly leaderJob: LeaderJob;
  /** Starts the delivery worker. */
  start(): void;
  /** Stops the delivery worker. Nothing is sent afterwards. */
  stop(): Promise<void>;
}

/** Builds the alert service, the evaluator that finds events, and the worker that delivers them. */
export function createAlertSystem(options: AlertSystemOptions): AlertSystem {
  const { settings, store, keyring, deriveKey, limits, now, log, baseUrl, serviceName } = options;
  const { records, archive } = store;
  const { keys, hashAddress } = keyring;
  const audit = createAuditor({ hashAddress, now });
  const urlKeys = webhookUrlKeysOf({ keyring, deriveKey });
  const { vault } = urlKeys;
  const { allowsInsecure, proxy } = settings.webhooks;
  const warn = (message: string) => log.warn(message);
  const urlPolicy = options.outbound ?? createWebhookPolicy({ allowsInsecure, warn });
  const scopesOf = (owner: AlertOwner) => currentScopesOf(records, owner);
  const most = settings.rateLimits.alerts;
  const capacity = new AlertCapacity({ records, hashAddress, now, most });
  const common = { records, archive, audit, capacity, vault, limits, now, scopesOf };

  const tokens = new UnsubscribeTokens(deriveKey("channel-unsubscribe"));
  const channelDependencies: ChannelDependencies = {
    serviceName,
    baseUrl,
    telegramUrl: settings.telegramUrl,
    mailbox: options.mailbox,
    unsubscribeUrl: (channelId) => unsubscribeUrl(baseUrl, tokens.tokenOf(channelId)),
  };
  const outbound = createWebhookSender({ ...urlPolicy, proxy, now: () => now().getTime() });
  const sender = measuredSender(outbound, options.meters ?? NO_METERS);
  const worker = new DeliveryWorker({
    ...common,
    sender,
    channels: channelDependencies,
    schedule: scheduleTimer,
    random: Math.random,
    keys: () => keys("webhook-signing").map(({ jwk }) => jwk),
    monotonic: () => performance.now(),
    onError: (error) =>
      log.error({ err: error }, "a delivery could not be attempted; it is retried"),
  });
  const evaluator = new AlertEvaluator({ ...options, ...common });
  return {
    service: new AlertService({ ...options, ...common, ...urlKeys, urlPolicy }),
    watchlists: new WatchlistService(common),
    channels: new ChannelService({ ...common, ...channelDependencies, urlPolicy }),
    unsubscribing: new UnsubscribeService({ ...common, tokens }),
    eventLog: createEventLog({ records, archive, vault, now }),
    keySet: () => toWebhookKeySet(keys("webhook-signing")),
    leaderJob: { tick: () => evaluator.tick(), everyMs: EVALUATE_EVERY_MS },
    start: () => worker.start(),
    async stop() {
      await worker.stop();
      await sender.close();
    },
  };
}
