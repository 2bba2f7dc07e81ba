import type { Transaction } from "../../store/transact.ts";
import {
  channelEndpointGroup,
  type Delivery,
  deliveries,
  newMessageId,
  queuedDeliveriesGroup,
} from "../delivery/delivery.ts";
import { groupsOfChannel, type StoredChannel } from "./channel.ts";

/**
 * Type of the message with the code that verifies a channel. The message body is the instant at
 * which the channel became pending, in milliseconds since the epoch; the code itself is stored
 * encrypted in the channel.
 */
export const VERIFICATION_CODE_MESSAGE_TYPE = "channel.verify";

/** Type of a message about the channel itself. The message body is a `ChannelMessage` as JSON. */
export const NOTICE_MESSAGE_TYPE = "channel.notice";

/**
 * Type of a message with several events. The message body is a `DigestPart` as JSON; the deliveries
 * of the events are in the group `digestGroup`.
 */
export const DIGEST_MESSAGE_TYPE = "channel.digest";

/**
 * Identifies a message as one part of a digest. A digest that is too long for one message has
 * several parts.
 */
export interface DigestPart {
  /** Number of this part, starting at 1. */
  readonly part: number;
  readonly parts: number;
  /** Number of events in all parts together. */
  readonly events: number;
  /**
   * Set if some of the events are in a digest because the channel had reached its hourly message
   * limit.
   */
  readonly isOverLimit?: true;
}

/** Group of the deliveries that belong to a digest. */
export const digestGroup = (digestId: string): string => `digest:${digestId}`;

/** A message that belongs to a channel and not to an alert. */
interface OwnMessage extends Pick<Delivery, "type" | "body" | "isRepeat"> {
  /** Instant from which the message id is derived, in milliseconds since the epoch. */
  readonly at: number;
  /** Lifetime in milliseconds. */
  readonly ttlMs: number;
  /** Delay of the first attempt in milliseconds. Default: none. */
  readonly dueInMs?: number;
}

/** Queues a message of a channel. @returns The id of the message. */
export function queueChannelMessage(
  tx: Transaction,
  { key: channelId, value }: Pick<StoredChannel, "key" | "value">,
  { at, ttlMs, dueInMs = 0, ...content }: OwnMessage,
): string {
  const id = newMessageId(at);
  const groups = [
    ...groupsOfChannel(channelId, value.accountId),
    queuedDeliveriesGroup(channelId),
    channelEndpointGroup(channelId),
  ];
  const delivery: Delivery = { channelId, attempts: 0, ...content };
  tx.insert(deliveries, { key: id, value: delivery, groups, ttlMs, dueInMs });
  return id;
}
