import { insert } from "../../store/port/operations.ts";
import type { Operation } from "../../store/port/records.ts";
import {
  channelEndpointGroup,
  type Delivery,
  deliveries,
  newMessageId,
  queueGroup,
} from "../delivery/delivery.ts";
import { groupsOfChannel, type StoredChannel } from "./channel.ts";

/** Type of the message with the code that verifies a channel. Its body is the time at which the
 *  channel became pending; the code itself is stored encrypted in the channel. */
export const CODE_TYPE = "channel.verify";

/** Type of a message about the channel itself; its body is a `ChannelMessage` as JSON. */
export const NOTICE_TYPE = "channel.notice";

/** Type of a message with several events; its body is a `DigestPart` as JSON, and the deliveries of
 *  the events are in its `digestGroup`. */
export const DIGEST_TYPE = "channel.digest";

/** Which part of a digest a message is: one that is too long for one message has several. */
export interface DigestPart {
  /** From 1. */
  readonly part: number;
  readonly parts: number;
  /** Events of all parts together. */
  readonly events: number;
  /** Set if some of them are in it because the channel had been sent the messages of an hour. */
  readonly isOverLimit?: true;
}

/** Group of the deliveries that a digest contains. */
export const digestGroup = (digestId: string): string => `digest:${digestId}`;

/** A message of a channel itself. */
interface OwnMessage extends Pick<Delivery, "type" | "body" | "isRepeat"> {
  /** Instant that its id is derived from, milliseconds since the epoch. */
  readonly at: number;
  /** Lifetime in milliseconds. */
  readonly ttlMs: number;
  /** Delay of the first attempt in milliseconds. Default: none. */
  readonly dueInMs?: number;
}

/** The operation that queues a message of a channel itself, and its id. */
export function queueOwnMessage(
  { key: channelId, value }: Pick<StoredChannel, "key" | "value">,
  { at, ttlMs, dueInMs = 0, ...content }: OwnMessage,
): { readonly id: string; readonly operation: Operation } {
  const id = newMessageId(at);
  const groups = [
    ...groupsOfChannel(channelId, value.accountId),
    queueGroup(channelId),
    channelEndpointGroup(channelId),
  ];
  const delivery: Delivery = { channelId, attempts: 0, ...content };
  return {
    id,
    operation: insert(deliveries, { key: id, value: delivery, groups, ttlMs, dueInMs }),
  };
}
