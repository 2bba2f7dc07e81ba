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
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  enqueueDelivery,
  newMessageId,
  type StorableAlert,
} from "../../src/alerts/delivery/delivery.ts";
import { releaseHeldDeliveries } from "../../src/alerts/delivery/held-deliveries.ts";
import type { Vault } from "../../src/keys/vault.ts";
import { createOutbox } from "../../src/mail/outbox.ts";
import type { Archive } from "../../src/store/port/archive.ts";
import { insert, replace } from "../../src/store/port/operations.ts";
import type { Operation, Records } from "../../src/store/port/records.ts";
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

/** Returns the symbols of the events in a message, in their order. */
export const symbolsIn = (text: string): readonly string[] =>
  Array.from(text.matchAll(/\b(E\d+): LONG/g), ([, symbol = ""]) => symbol);

/** The parts of a store in which a channel and its alert are. */
interface ChannelStore {
  readonly records: Records;
  readonly archive: Pick<Archive, "read">;
}

/** Returns the stored channel. */
export async function channelNow(
  { records }: Pick<ChannelStore, "records">,
  { channel }: Pick<ChannelAlert, "channel">,
): Promise<StoredChannel> {
  const found = await records.get(channels, channel.key);
  if (found === undefined) throw new Error("The channel is gone.");
  return found;
}

/** Changes the channel, as the service does when the change makes it active or reschedules it. */
export async function changeChannel(
  store: Pick<ChannelStore, "records">,
  made: Pick<ChannelAlert, "channel">,
  changes: Partial<Channel>,
): Promise<void> {
  const channel = await channelNow(store, made);
  const changed = replace(channels, channel, { value: { ...channel.value, ...changes } });
  await store.records.commit([changed, ...stepsOf(releaseHeldDeliveries, channel)]);
}

/** Changes the alert, as the service does. */
export async function changeAlert(
  { records }: Pick<ChannelStore, "records">,
  { alert: { key } }: Pick<ChannelAlert, "alert">,
  changes: Partial<Alert>,
): Promise<void> {
  const alert = await records.get(alerts, key);
  if (alert === undefined) throw new Error("The alert is gone.");
  const changed = replace(alerts, alert, { value: { ...alert.value, ...changes } });
  const released = changes.isPaused === false ? stepsOf(releaseHeldDeliveries, alert) : [];
  if (!(await records.commit([changed, ...released]))) throw new Error("The alert has changed.");
}

/** Returns the attempts to deliver events of the alert, oldest first. */
export async function attemptsAt(
  { archive }: Pick<ChannelStore, "archive">,
  { alert }: Pick<ChannelAlert, "alert">,
): Promise<readonly DeliveryAttempt[]> {
  const rows = await archive.read(ATTEMPT_ARCHIVE_KIND, {
    ...{ subject: alert.key, from: 0, order: "oldest", limit: 10_000 },
  });
  return rows.map(({ body }) => body as DeliveryAttempt);
}
