import type { Archive } from "../../store/port/archive.ts";
import type { Records } from "../../store/port/records.ts";
import { isSentToChannel, type StoredAlert } from "../alert.ts";
import { lastSuccessfulDeliveryAt } from "../api/queries.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  type DeliveryAttempt,
  EVENT_RETENTION_MS,
} from "../delivery/delivery.ts";
import type { Channel, ChannelState, StoredChannel } from "./channel.ts";

/** A channel in the form that the person who owns it sees. */
export interface ChannelView
  extends Pick<Channel, "kind" | "name" | "hint" | "schedule" | "isShared" | "createdAt"> {
  readonly id: string;
  readonly state: ChannelState;
  /**
   * When the channel last accepted a message, in milliseconds since the epoch; `undefined` if there
   * was no recent success.
   */
  readonly lastSuccessAt: number | undefined;
  /**
   * The last attempt within the past 30 days to send one of the channel's own messages, such as its
   * code, a test or a digest; `undefined` if there was none.
   */
  readonly lastAttempt: Pick<DeliveryAttempt, "error" | "status"> | undefined;
  /** Number of alerts that send to the channel. */
  readonly alerts: number;
}

/**
 * The view of a channel for its owner.
 *
 * @param all All alerts of the account.
 */
export async function channelViewOf(
  { key: id, value }: StoredChannel,
  all: readonly StoredAlert[],
  sources: { readonly records: Records; readonly archive: Archive; readonly now: () => Date },
): Promise<ChannelView> {
  const { archive, now } = sources;
  const { kind, name, hint, schedule, isShared, createdAt, state } = value;
  const own = all.filter((alert) => isSentToChannel(alert, id));
  const [rows, ...successes] = await Promise.all([
    archive.read(ATTEMPT_ARCHIVE_KIND, {
      subject: id,
      from: now().getTime() - EVENT_RETENTION_MS,
      order: "newest",
      limit: 1,
    }),
    ...[id, ...own.map(({ key }) => key)].map((each) => lastSuccessfulDeliveryAt(sources, each)),
  ]);
  const known = successes.filter((at) => at !== undefined);
  return {
    id,
    kind,
    name,
    hint,
    schedule,
    isShared,
    createdAt,
    state,
    lastSuccessAt: known.length === 0 ? undefined : Math.max(...known),
    lastAttempt: rows[0]?.body as DeliveryAttempt | undefined,
    alerts: own.length,
  };
}
