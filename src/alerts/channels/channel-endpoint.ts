import type { Auditor } from "../../access/auditor.ts";
import type { Vault } from "../../keys/vault.ts";
import { announce, remove, removeGroup, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { type Kept, replaceKept } from "../../store/set-aside.ts";
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
  type ChannelTarget,
  channels,
  channelTargetEncryptionContext,
  decryptChannelTarget,
  groupsOfChannel,
  type StoredChannel,
} from "./channel.ts";
import type { ChannelMessage } from "./message.ts";
import { NOTICE_MESSAGE_TYPE, queueChannelMessage } from "./own-messages.ts";
import type { ChatServices } from "./services/chat-services.ts";
import { channelTargetHint } from "./targets.ts";

/** Dependencies of `ChannelEndpoint`. */
export interface ChannelEndpointOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly chat: ChatServices;
  /** Decrypts and encrypts the targets of channels. */
  readonly vault: Vault;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
}

/** A channel as the endpoint of a delivery. */
export class ChannelEndpoint implements Endpoint {
  readonly #channel: StoredChannel;
  readonly #mail: readonly Operation[];
  readonly #options: ChannelEndpointOptions;

  /**
   * @param channel The channel as it was before the attempt.
   * @param mail The operations that put an email into the outbox, after which the email is treated
   * as delivered; empty for other kinds of channels.
   */
  constructor(channel: StoredChannel, mail: readonly Operation[], options: ChannelEndpointOptions) {
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
    return response === undefined
      ? UNREACHABLE_VERDICT
      : this.#options.chat[kind].verdictOn(response);
  }

  async afterSuccess(): Promise<readonly Operation[]> {
    return this.#mail;
  }

  /** Updates the target of a Telegram channel whose chat has a new id. */
  async afterFailure(response: WebhookResponse | undefined): Promise<readonly Operation[]> {
    const { records, chat, vault } = this.#options;
    const target = decryptChannelTarget(vault, this.#channel);
    if (response === undefined || target.kind !== "telegram") return [];
    const moved = chat.telegram.movedTo?.(target, response);
    const channel = await records.get(channels, this.id);
    if (moved === undefined || channel === undefined) return [];
    const to: ChannelTarget = { kind: "telegram", ...moved };
    const sealed = vault.seal(JSON.stringify(to), channelTargetEncryptionContext(this.id));
    const value = { ...channel.value, target: sealed, hint: channelTargetHint(to) };
    return [replace(channels, channel, { value })];
  }

  /**
   * Disables the channel only if it is active. A channel that waits for its code is not disabled,
   * because the person can request another code.
   */
  async disable(reason: DisabledReason, at: number): Promise<readonly Operation[] | undefined> {
    const { records } = this.#options;
    const { state: before } = this.#channel.value;
    const channel = await records.get(channels, this.id);
    if (reason === "unverified" || channel?.value.state.is !== "active") return undefined;
    if (channel.value.state.since !== before.since) return undefined;
    const all = await readAll(records, channels, accountAlertsGroup(this.#channel.value.accountId));
    const others = all.filter(({ key, value }) => key !== this.id && value.state.is === "active");
    return [
      ...disableChannelOperations(channel, { is: "disabled", since: at, reason }),
      ...this.#options.audit({ action: "channel.disabled", actor: "system", target: this.id }),
      ...others.map((other) => this.#notice(other, at)),
      announce(DELIVERIES_TOPIC),
    ];
  }

  /**
   * The operation that notifies the person through another of their channels that this channel was
   * disabled.
   */
  #notice(to: StoredChannel, at: number): Operation {
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
    return queueChannelMessage(to, notice).operation;
  }
}

/** The operations that disable a channel and delete its queued deliveries. */
export const disableChannelOperations = (
  channel: Kept<Channel>,
  state: ChannelState,
): readonly Operation[] => [
  replaceKept(channels, channel, { ...channel.value, state }),
  removeGroup(queuedDeliveriesGroup(channel.key)),
  remove(endpointHealthRecords, channel.key),
];
