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

/** A message that belongs to a channel and not to an alert. */
interface OwnMessage extends Pick<Delivery, "type" | "body" | "isRepeat"> {
  /** Instant from which the message id is derived, in milliseconds since the epoch. */
  readonly at: number;
  /** Lifetime in milliseconds. */
  readonly ttlMs: number;
  /** Delay of the first attempt in milliseconds. Default: none. */
  readonly dueInMs?: number;
}

/** Groups of a message of a channel. */
export const groupsOfChannelMessage = (channelId: string, accountId: string): readonly string[] => [
  ...groupsOfChannel(channelId, accountId),
  queuedDeliveriesGroup(channelId),
  channelEndpointGroup(channelId),
];

/** Queues a message of a channel. @returns The id of the message. */
export function queueChannelMessage(
  tx: Transaction,
  { key: channelId, value }: Pick<StoredChannel, "key" | "value">,
  { at, ttlMs, dueInMs = 0, ...content }: OwnMessage,
): string {
  const id = newMessageId(at);
  const groups = groupsOfChannelMessage(channelId, value.accountId);
  const delivery: Delivery = { channelId, attempts: 0, ...content };
  tx.insert(deliveries, { key: id, value: delivery, groups, ttlMs, dueInMs });
  return id;
}
