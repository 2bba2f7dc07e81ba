import type { Auditor } from "../../access/auditor.ts";
import type { Vault } from "../../keys/vault.ts";
import type { Outbox, OutgoingMail } from "../../mail/outbox.ts";
import { readAll } from "../../store/port/read-all.ts";
import { type Kept, updateKept } from "../../store/set-aside.ts";
import type { Transaction } from "../../store/transact.ts";
import { accountAlertsGroup } from "../alert.ts";
import {
  DELIVERIES_TOPIC,
  type Delivery,
  EVENT_RETENTION_MS,
  queuedDeliveriesGroup,
} from "../delivery/delivery.ts";
import {
  ACCEPTED_VERDICT,
  type DisabledReason,
  type Endpoint,
  type EndpointVerdict,
  UNREACHABLE_VERDICT,
} from "../delivery/endpoint.ts";
import { endpointHealthRecords } from "../delivery/endpoint-health.ts";
import type { WebhookResponse } from "../delivery/sender.ts";
import {
  type Channel,
  type ChannelState,
  channels,
  channelTargetEncryptionContext,
  decryptChannelTarget,
  groupsOfChannel,
  type StoredChannel,
} from "./channel.ts";
import type { ChannelMessage } from "./message.ts";
import { NOTICE_MESSAGE_TYPE, queueChannelMessage } from "./own-messages.ts";
import { type ChatKind, chatServices } from "./services/chat-services.ts";
import { type ChannelTarget, channelTargetHint } from "./targets.ts";

/** Dependencies of `ChannelEndpoint`. */
export interface ChannelEndpointOptions {
  readonly audit: Auditor;
  readonly mailbox: Outbox;
  /** Decrypts and encrypts the targets of channels. */
  readonly vault: Vault;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** A channel as the endpoint of a delivery. */
export class ChannelEndpoint implements Endpoint {
  readonly #channel: StoredChannel;
  readonly #mail: OutgoingMail | undefined;
  readonly #options: ChannelEndpointOptions;

  /**
   * @param channel The channel as it was before the attempt.
   * @param mail The email to put into the outbox, after which it is treated as delivered;
   * `undefined` for other kinds of channels.
   */
  constructor(
    channel: StoredChannel,
    mail: OutgoingMail | undefined,
    options: ChannelEndpointOptions,
  ) {
    this.#channel = channel;
    this.#mail = mail;
    this.#options = options;
  }

  get id(): string {
    return this.#channel.key;
  }

  get groups(): readonly string[] {
    return groupsOfChannel(this.id, this.#channel.value.accountId);
  }

  verdictOn(_: Delivery, response: WebhookResponse | undefined): EndpointVerdict {
    const { kind } = this.#channel.value;
    if (kind === "email") return ACCEPTED_VERDICT;
    return response === undefined ? UNREACHABLE_VERDICT : chatServices[kind].verdictOn(response);
  }

  async afterSuccess(tx: Transaction): Promise<void> {
    if (this.#mail !== undefined) this.#options.mailbox.queue(tx, this.#mail);
  }

  /** Updates the target of a channel whose chat has moved. */
  async afterFailure(tx: Transaction, response: WebhookResponse | undefined): Promise<void> {
    const { vault } = this.#options;
    const target = decryptChannelTarget(vault, this.#channel);
    if (response === undefined || target.kind === "email") return;
    const moved = movedTarget(target, response);
    const channel = await tx.get(channels, this.id);
    if (moved === undefined || channel === undefined) return;
    const sealed = vault.seal(JSON.stringify(moved), channelTargetEncryptionContext(this.id));
    const value = { ...channel.value, target: sealed, hint: channelTargetHint(moved) };
    tx.update(channels, channel, { value });
  }

  /**
   * Disables the channel only if it is active. A channel that waits for its code is not disabled,
   * because the person can request another code.
   */
  async disable(tx: Transaction, reason: DisabledReason, at: number): Promise<boolean> {
    const { state: before } = this.#channel.value;
    const channel = await tx.get(channels, this.id);
    if (reason === "unverified" || channel?.value.state.is !== "active") return false;
    if (channel.value.state.since !== before.since) return false;
    const all = await readAll(tx, channels, accountAlertsGroup(this.#channel.value.accountId));
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
      link: `${this.#options.baseUrl}/account#channels`,
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

const movedTarget = <Kind extends ChatKind>(
  target: ChannelTarget<Kind>,
  response: WebhookResponse,
): ChannelTarget | undefined => chatServices[target.kind].movedTo?.(target, response);

/** Disables a channel and deletes its queued deliveries. */
export function disableChannel(tx: Transaction, channel: Kept<Channel>, state: ChannelState): void {
  updateKept(tx, channels, channel, { ...channel.value, state });
  tx.removeGroup(queuedDeliveriesGroup(channel.key));
  tx.remove(endpointHealthRecords, channel.key);
}
