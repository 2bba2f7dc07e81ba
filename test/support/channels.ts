import { type Alert, type AlertOwner, alerts, groupsOfAlert } from "../../src/alerts/alert.ts";
import { newAlertId } from "../../src/alerts/api/ownership.ts";
import {
  type Channel,
  type ChannelState,
  channels,
  channelTargetEncryptionContext,
  groupsOfChannel,
  newChannelId,
  type StoredChannel,
} from "../../src/alerts/channels/channel.ts";
import type { ChannelDependencies } from "../../src/alerts/channels/channel-endpoint.ts";
import { type ChannelSchedule, IMMEDIATE_SCHEDULE } from "../../src/alerts/channels/schedule.ts";
import { type ChannelTarget, channelTargetHint } from "../../src/alerts/channels/targets.ts";
import {
  enqueueDelivery,
  newMessageId,
  type StorableAlert,
} from "../../src/alerts/delivery/delivery.ts";
import type { Vault } from "../../src/keys/vault.ts";
import { createOutbox } from "../../src/mail/outbox.ts";
import { insert } from "../../src/store/port/operations.ts";
import type { Operation } from "../../src/store/port/records.ts";
import { stepsOf } from "./steps-of.ts";

/** Base URL of the simulated service. */
const BASE_URL = "https://signals.test";

/**
 * Dependencies of channel deliveries.
 *
 * @param telegramUrl Base URL of the Telegram Bot API.
 */
export const outletsOn = (
  vault: Vault,
  now: () => Date = () => new Date(),
  telegramUrl = "https://api.telegram.org",
): ChannelDependencies => ({
  ...{ serviceName: "Signals", baseUrl: BASE_URL },
  telegramUrl,
  mailbox: createOutbox({ vault, now }),
  unsubscribeUrl: (channelId) => `${BASE_URL}/unsubscribe/${channelId}`,
});

/** Options of a channel. */
export interface MadeUpChannel {
  readonly target: ChannelTarget;
  readonly vault: Vault;
  readonly accountId?: string;
  readonly name?: string;
  readonly schedule?: Partial<ChannelSchedule>;
  /** Default: active. */
  readonly state?: ChannelState;
}

/** A channel, and an alert of the same account that sends to it. */
export interface ChannelAlert {
  readonly channel: Pick<StoredChannel, "key" | "value" | "groups">;
  readonly alert: StorableAlert;
  /** Operations that store the channel and the alert. */
  readonly steps: readonly Operation[];
}

/** Creates a channel and its alert. */
export function channelAlert(options: MadeUpChannel): ChannelAlert {
  const { target, vault, accountId = "acc_of_channels", name = "mine", schedule } = options;
  const { state = { is: "active", since: 0 } } = options;
  const id = newChannelId();
  const value: Channel = {
    ...{ accountId, kind: target.kind, name, hint: channelTargetHint(target), state, createdAt: 0 },
    isShared: false,
    target: vault.seal(JSON.stringify(target), channelTargetEncryptionContext(id)),
    schedule: { ...IMMEDIATE_SCHEDULE, ...schedule },
  };
  const channel = { key: id, value, groups: groupsOfChannel(id, accountId) };
  const alert = alertThrough(id, { kind: "service", id: "key-1", accountId });
  return {
    ...{ channel, alert },
    steps: [
      insert(channels, { key: id, value }),
      insert(alerts, { key: alert.key, value: alert.value }),
    ],
  };
}

/** Creates an alert that sends to a channel. */
function alertThrough(channelId: string, owner: AlertOwner, label: string | null = "test") {
  const key = newAlertId();
  const value: Alert = {
    ...{ owner, label, kinds: ["signal_shift"], isPaused: false },
    watched: { by: "symbols", symbols: ["AAPL"] },
    thresholds: { scoreMove: 15, volatilityZ: 2, cooldownDays: null },
    way: { by: "channel", channelId },
    ...{ createdAt: 0, expiresAt: null, snoozedUntil: null },
  };
  return { key, value, groups: groupsOfAlert(key, owner) } satisfies StorableAlert;
}

/** Payload of a signal.shift event. */
export function shiftBody(symbol: string, at = 0): string {
  const asOf = new Date(at).toISOString();
  const point = (signal: string, score: number) => ({ snapshotId: "s", asOf, signal, score });
  const data = {
    ...{ alertId: "a", eventId: "e", sequence: 1, symbol, name: "A name", asOf, market: "live" },
    ...{ signal: "LONG", score: 71, previousSignal: "WAIT", previousScore: 55, confidence: 0.8 },
    ...{ reason: "direction", before: point("WAIT", 55), after: point("LONG", 71) },
  };
  return JSON.stringify({ type: "signal.shift", timestamp: asOf, data });
}

/** Operations that queue a signal.shift event for an alert. */
export const queuedShift = (to: StorableAlert, symbol: string, at = 0): readonly Operation[] =>
  stepsOf(enqueueDelivery, to, {
    ...{ eventId: newMessageId(at), type: "signal.shift", body: shiftBody(symbol, at) },
  });
