import type { Auditor } from "../../access/auditor.ts";
import type { Vault } from "../../keys/vault.ts";
import type { LimitState, Limits } from "../../limits/limits.ts";
import type { Outbox } from "../../mail/outbox.ts";
import { accounts } from "../../principals/accounts/accounts.ts";
import { readAll } from "../../store/port/read-all.ts";
import { type Kept, updateKept } from "../../store/set-aside.ts";
import type { Transaction } from "../../store/transact.ts";
import {
  type AlertOwner,
  accountAlertsGroup,
  alerts,
  type EventSource,
  eventParty,
  type StoredAlert,
} from "../alert.ts";
import type { EntitlementOptions } from "../delivery/addressee.ts";
import {
  DELIVERIES_TOPIC,
  deliveries,
  EVENT_RETENTION_MS,
  isUnchanged,
  queuedDeliveriesGroup,
  rescheduleDelivery,
  type StoredDelivery,
} from "../delivery/delivery.ts";
import {
  ACCEPTED_VERDICT,
  type DisabledReason,
  delay,
  drop,
  type Endpoint,
  holdBack,
  type Instead,
  type Ready,
  UNREACHABLE_VERDICT,
} from "../delivery/endpoint.ts";
import { endpointHealthRecords } from "../delivery/endpoint-health.ts";
import { delayIfExceeded, delayIfRepeatedTooOften } from "../delivery/repeat-limit.ts";
import {
  type Channel,
  type ChannelState,
  channelCodeEncryptionContext,
  channels,
  channelTargetEncryptionContext,
  decryptChannelTarget,
  groupsOfChannel,
  type StoredChannel,
} from "./channel.ts";
import {
  DIGEST_MESSAGE_TYPE,
  digestMessage,
  GATHERING_TYPE,
  gatherDigest,
  gatheringWaitEnd,
  readDigestMembers,
  waitForDigest,
} from "./digest.ts";
import type { ChannelMessage } from "./message.ts";
import {
  NOTICE_MESSAGE_TYPE,
  queueChannelMessage,
  VERIFICATION_CODE_MESSAGE_TYPE,
} from "./own-messages.ts";
import { quietHoursEnd, scheduledWaitEnd } from "./schedule.ts";
import { type ChatKind, chatServices } from "./services/chat-services.ts";
import { type EmailTarget, emailOfMessage } from "./services/email.ts";
import type { ChatSettings } from "./services/service.ts";
import { type ChannelTarget, channelTargetHint, channelTargetKey } from "./targets.ts";
import { eventMessage, verificationCodeMessage } from "./texts.ts";

/**
 * When a channel has reached its hourly message limit, the end of the wait is rounded up to a
 * multiple of this many milliseconds, so that waiting events become due together.
 */
const LIMIT_GRAIN_MS = 60_000;

/** Dependencies for sending messages to channels. */
export interface ChannelDependencies extends ChatSettings {
  readonly mailbox: Outbox;
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Creates the URL that unsubscribes an email channel. */
  readonly unsubscribeUrl: (channelId: string) => string;
}

/** Dependencies of `ChannelEndpoint`. */
export interface ChannelEndpointOptions extends EntitlementOptions {
  readonly audit: Auditor;
  /** Decrypts and encrypts the targets and codes of channels. */
  readonly vault: Vault;
  readonly limits: Limits;
  readonly channels: ChannelDependencies;
  /** Wall clock. */
  readonly now: () => Date;
}

/** A channel as the endpoint of a delivery. */
export class ChannelEndpoint implements Endpoint {
  readonly #channel: StoredChannel;
  readonly #alert: StoredAlert | undefined;
  readonly #options: ChannelEndpointOptions;

  /**
   * @param channel The channel as it is before the attempt.
   * @param alert The alert of the delivery, which sends to the channel; `undefined` for a message
   * of the channel itself.
   */
  constructor(
    channel: StoredChannel,
    alert: StoredAlert | undefined,
    options: ChannelEndpointOptions,
  ) {
    this.#channel = channel;
    this.#alert = alert;
    this.#options = options;
  }

  get id(): string {
    return this.#channel.key;
  }

  get groups(): readonly string[] {
    return groupsOfChannel(this.id, this.#channel.value.accountId);
  }

  async prepare(delivery: StoredDelivery): Promise<Ready | Instead> {
    const { type } = delivery.value;
    const { is } = this.#channel.value.state;
    if (is === "disabled") return drop(delivery);
    if (type === VERIFICATION_CODE_MESSAGE_TYPE) return this.#prepareCode(delivery);
    if (is !== "active") return holdBack(delivery, channels, this.#channel);
    switch (type) {
      case NOTICE_MESSAGE_TYPE:
        return this.#prepareNotice(delivery);
      case GATHERING_TYPE:
        return this.#prepareGathering(delivery);
      case DIGEST_MESSAGE_TYPE:
        return this.#prepareDigest(delivery);
      default:
        return this.#alert === undefined
          ? drop(delivery)
          : this.#prepareEvent(delivery, this.#alert);
    }
  }

  /** A code that was replaced, has expired or has no attempts left is not sent. */
  #prepareCode(delivery: StoredDelivery): Ready | Instead {
    const { state } = this.#channel.value;
    const { vault } = this.#options;
    const isCurrent =
      state.is === "pending" &&
      String(state.since) === delivery.value.body &&
      this.#now() < state.codeUntil;
    if (!isCurrent || state.code === null) return drop(delivery);
    const code = vault.open(state.code, channelCodeEncryptionContext(this.id));
    const message = verificationCodeMessage(code, this.#options.channels);
    return { ...this.#ready(delivery, message), isVerification: true };
  }

  async #prepareNotice(delivery: StoredDelivery): Promise<Ready | Instead> {
    const exceeded =
      (await this.#delayIfRepeatedTooOften(delivery)) ??
      delayIfExceeded(delivery, await this.#countMessage(delivery));
    return exceeded ?? this.#ready(delivery, JSON.parse(delivery.value.body) as ChannelMessage);
  }

  #prepareGathering(gathering: StoredDelivery): Instead {
    const now = this.#now();
    const until = gatheringWaitEnd(gathering, this.#channel.value.schedule, now);
    if (until !== undefined) return this.#waitUntil(gathering, until, now);
    return { instead: gatherDigest(gathering, this.#channel, now) };
  }

  async #prepareDigest(digest: StoredDelivery): Promise<Ready | Instead> {
    const now = this.#now();
    const quiet = quietHoursEnd(this.#channel.value.schedule, now);
    if (quiet !== undefined) return this.#waitUntil(digest, quiet, now);
    const { told, others } = await readDigestMembers(digest, this.#options);
    if (others.length > 0) {
      return {
        instead: async (tx) => {
          for (const requeue of others) await requeue(tx);
          endWait(tx, digest, 0);
        },
      };
    }
    if (told.length === 0) return drop(digest);
    const repeated = await this.#delayIfRepeatedTooOften(digest);
    if (repeated !== undefined) return repeated;
    const counted = await this.#countMessage(digest);
    if (counted.isExceeded) return { instead: (tx) => endWait(tx, digest, counted.resetMs) };
    const message = digestMessage(digest, told, { ...this.#options.channels, limit: counted });
    return { ...this.#ready(digest, message), members: told.map((event) => event.delivery) };
  }

  async #prepareEvent(event: StoredDelivery, alert: StoredAlert): Promise<Ready | Instead> {
    const { digestId, heldUntil, type } = event.value;
    // Redelivery can make the event due again, but the event is sent as part of its digest.
    if (digestId !== undefined) return { instead: rescheduleDelivery(event, null) };
    if (alert.value.isPaused) return holdBack(event, alerts, alert);
    // A test event ignores the schedule, because a person requested it and is waiting for it.
    const isTest = type === "webhook.test";
    const now = this.#now();
    // An event that waits goes on waiting, although redelivery or version 1.0 made it due.
    const until = heldUntil ?? scheduledWaitEnd(this.#channel.value.schedule, now);
    if (!isTest && until !== undefined) {
      return { instead: waitForDigest(event, this.#channel, { until, now }) };
    }
    const { limits } = this.#options;
    const repeated = await delayIfRepeatedTooOften(event, alert.value, limits);
    if (repeated !== undefined) return repeated;
    const { isExceeded, resetMs } = await this.#countMessage(event);
    if (isExceeded && isTest) return delay(event, resetMs);
    if (isExceeded) {
      const ends = Math.ceil((now + resetMs) / LIMIT_GRAIN_MS) * LIMIT_GRAIN_MS;
      const wait = { until: ends, now, isOverLimit: true } as const;
      return { instead: waitForDigest(event, this.#channel, wait) };
    }
    return this.#ready(event, eventMessage(event.value.body, alert, this.#options.channels));
  }

  #now(): number {
    return this.#options.now().getTime();
  }

  /**
   * Makes a gathering or digest wait until `heldUntil`, or until the channel's schedule changes.
   */
  #waitUntil(delivery: StoredDelivery, heldUntil: number, now: number): Instead {
    const value = { ...delivery.value, heldUntil };
    return {
      instead: async (tx) => {
        if (!(await isUnchanged(tx, channels, this.#channel))) return;
        tx.update(deliveries, delivery, { value, dueInMs: heldUntil - now });
      },
    };
  }

  async #delayIfRepeatedTooOften(delivery: StoredDelivery): Promise<Instead | undefined> {
    return delayIfRepeatedTooOften(delivery, await this.#source(), this.#options.limits);
  }

  /**
   * At the first attempt, counts a message against the limit of its mailbox or chat. Later attempts
   * only read the counter.
   */
  async #countMessage(delivery: StoredDelivery): Promise<LimitState> {
    const { limits, vault } = this.#options;
    const target = channelTargetKey(decryptChannelTarget(vault, this.#channel));
    const party = { ...eventParty(await this.#source()), target };
    if (delivery.value.attempts === 0) return limits.admit("messages", party);
    return { ...(await limits.check("messages", party)), isExceeded: false };
  }

  /** The person of the channel, with the network in which the account was created. */
  async #source(): Promise<EventSource> {
    const { accountId } = this.#channel.value;
    const owner: AlertOwner = { kind: "user", id: accountId, accountId };
    const network = (await this.#options.records.get(accounts, accountId))?.value.network;
    return network === undefined ? { owner } : { owner, network };
  }

  #ready(delivery: StoredDelivery, message: ChannelMessage): Ready {
    const target = decryptChannelTarget(this.#options.vault, this.#channel);
    return target.kind === "email"
      ? this.#readyEmail(delivery, target, message)
      : this.#readyChat(target, message);
  }

  /**
   * An email needs no request: the transaction that records the attempt puts it into the outbox,
   * and like queued deliveries it is deleted together with its channel.
   */
  #readyEmail(delivery: StoredDelivery, target: EmailTarget, message: ChannelMessage): Ready {
    const { mailbox, unsubscribeUrl } = this.#options.channels;
    // A message with a code has no unsubscribe link, because an unverified channel receives nothing
    // else.
    const isCode = delivery.value.type === VERIFICATION_CODE_MESSAGE_TYPE;
    const mail = {
      ...emailOfMessage(target, message, isCode ? undefined : unsubscribeUrl(this.id)),
      groups: [...this.groups, queuedDeliveriesGroup(this.id)],
      cause: this.#channel.value.accountId,
    };
    return {
      request: undefined,
      isVerification: false,
      verdictOn: () => ACCEPTED_VERDICT,
      onAccepted: (tx) => mailbox.queue(tx, mail),
    };
  }

  #readyChat<Kind extends ChatKind>(target: ChannelTarget<Kind>, message: ChannelMessage): Ready {
    const service = chatServices[target.kind];
    return {
      request: service.request(target, message, this.#options.channels),
      isVerification: false,
      verdictOn: (response) =>
        response === undefined ? UNREACHABLE_VERDICT : service.verdictOn(response),
      onRefused: async (tx, response) => {
        const moved: ChannelTarget | undefined = service.movedTo?.(target, response);
        if (moved !== undefined) await this.#moveTo(tx, moved);
      },
    };
  }

  /** Updates the target of a channel whose chat has moved. */
  async #moveTo(tx: Transaction, moved: ChannelTarget): Promise<void> {
    const channel = await tx.get(channels, this.id);
    if (channel === undefined) return;
    const context = channelTargetEncryptionContext(this.id);
    const target = this.#options.vault.seal(JSON.stringify(moved), context);
    const value = { ...channel.value, target, hint: channelTargetHint(moved) };
    tx.update(channels, channel, { value });
  }

  /**
   * Disables the channel only if it is active. A channel that waits for its code is not disabled,
   * because the person can request another code.
   */
  async disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean> {
    const { accountId, state: before } = this.#channel.value;
    const channel = await tx.get(channels, this.id);
    if (reason === "unverified" || channel?.value.state.is !== "active") return false;
    if (channel.value.state.since !== before.since) return false;
    const all = await readAll(tx, channels, accountAlertsGroup(accountId));
    const others = all.filter(({ key, value }) => key !== this.id && value.state.is === "active");
    disableChannel(tx, channel, { is: "disabled", since: at, reason });
    this.#options.audit(tx, { action: "channel.disabled", actor: "system", target: this.id });
    for (const other of others) this.#notify(tx, other, at);
    tx.announce(DELIVERIES_TOPIC);
    return true;
  }

  /** Notifies the person through another of their channels that this channel was disabled. */
  #notify(tx: Transaction, to: StoredChannel, at: number): void {
    const message: ChannelMessage = {
      title: "A channel of your alerts was stopped",
      lines: ["It accepts no messages any more. Your account page names it, and starts it again."],
      link: `${this.#options.channels.baseUrl}/account#channels`,
    };
    const body = JSON.stringify(message);
    const notice = {
      type: NOTICE_MESSAGE_TYPE,
      body,
      isRepeat: true,
      at,
      ttlMs: EVENT_RETENTION_MS,
    } as const;
    queueChannelMessage(tx, to, notice);
  }
}

/** Makes a digest due, which then no longer waits for the end of quiet hours. */
function endWait(tx: Transaction, digest: StoredDelivery, dueInMs: number): void {
  const { heldUntil: _, ...value } = digest.value;
  tx.update(deliveries, digest, { value, dueInMs });
}

/** Disables a channel and deletes its queued deliveries. */
export function disableChannel(tx: Transaction, channel: Kept<Channel>, state: ChannelState): void {
  updateKept(tx, channels, channel, { ...channel.value, state });
  tx.removeGroup(queuedDeliveriesGroup(channel.key));
  tx.remove(endpointHealthRecords, channel.key);
}
