import type { Vault } from "../../keys/vault.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { Problem } from "../../lib/problem.ts";
import { accountRecordsGroup } from "../../principals/agents/agent.ts";
import { collection, type RecordReader, type Stored } from "../../store/port/records.ts";
import { type AlertOwner, accountAlertsGroup } from "../alert.ts";
import type { ChannelSchedule } from "./schedule.ts";
import type { ChannelKind, ChannelTarget } from "./targets.ts";

/**
 * State of a channel, which decides whether messages may be sent to it. Instants are milliseconds
 * since the epoch.
 */
export type ChannelState =
  /**
   * The person has not entered the code that was sent to the channel. Nothing but codes is sent.
   */
  | {
      readonly is: "pending";
      readonly since: number;
      /**
       * The code, encrypted with the context `channelCodeEncryptionContext(id)`; `null` after too
       * many wrong guesses.
       */
      readonly code: string | null;
      readonly codeUntil: number;
      readonly triesLeft: number;
    }
  | { readonly is: "active"; readonly since: number }
  /** Messages are queued until the person resumes the channel. */
  | { readonly is: "paused"; readonly since: number }
  /** Nothing is sent until the person verifies the channel again. */
  | {
      readonly is: "disabled";
      readonly since: number;
      /**
       * `gone`: the service reports that the target no longer exists; `failing`: five days without
       * a success; `unsubscribed`: someone used the unsubscribe link in an email.
       */
      readonly reason: "gone" | "failing" | "unsubscribed";
    };

/** A mailbox or chat in which a person receives events. */
export interface Channel {
  readonly accountId: string;
  readonly kind: ChannelKind;
  /** Name that the person gave the channel, unique in the account (case-insensitive). */
  readonly name: string;
  /**
   * The `ChannelTarget` as JSON, encrypted with the context `channelTargetEncryptionContext(id)`.
   */
  readonly target: string;
  /** The part of the target that is not secret, by which the person recognizes the channel. */
  readonly hint: string;
  readonly state: ChannelState;
  readonly schedule: ChannelSchedule;
  /** Whether the person's applications and agents may send alerts to the channel. */
  readonly isShared: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Maximum number of channels per account. */
export const MAX_CHANNELS_PER_ACCOUNT = 10;

/** Channels by id: `chan_` and 16 base62 characters. */
export const channels = collection<Channel>("channels", {
  groups: ({ accountId }, key) => groupsOfChannel(key, accountId),
});

/** A channel with its key, revision and groups. */
export type StoredChannel = Stored<Channel>;

/** Number of random base62 characters in a channel id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^chan_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** Generates a channel id. */
export const newChannelId = (): string => `chan_${randomBase62(ID_LENGTH)}`;

/** Group of all records that are deleted together with a channel. */
export const channelGroup = (channelId: string): string => `channel:${channelId}`;

/** Groups of a channel and of the channel's own messages (codes, tests, notices, digests). */
export const groupsOfChannel = (channelId: string, accountId: string): readonly string[] => [
  channelGroup(channelId),
  accountAlertsGroup(accountId),
  accountRecordsGroup(accountId),
];

/** Encryption context to which the target of a channel is bound. */
export const channelTargetEncryptionContext = (channelId: string): string =>
  `channel-target:${channelId}`;

/** Encryption context to which the code of a channel is bound. */
export const channelCodeEncryptionContext = (channelId: string): string =>
  `channel-code:${channelId}`;

/**
 * Decrypts the target of a channel.
 *
 * @throws {Error} If the key that encrypted the target no longer exists.
 */
export const decryptChannelTarget = (
  vault: Vault,
  { key, value }: Pick<StoredChannel, "key" | "value">,
): ChannelTarget =>
  JSON.parse(vault.open(value.target, channelTargetEncryptionContext(key))) as ChannelTarget;

/**
 * Finds a channel of an account by id.
 *
 * @throws {Problem} `not_found`, also when the channel belongs to another account, so that callers
 * cannot probe for ids.
 */
export async function requireChannel(
  records: RecordReader,
  accountId: string | undefined,
  channelId: string,
): Promise<StoredChannel> {
  const found = ID.test(channelId) ? await records.get(channels, channelId) : undefined;
  if (found !== undefined && found.value.accountId === accountId) return found;
  throw channelNotFoundProblem();
}

/** The problem when an account does not have the requested channel. */
export const channelNotFoundProblem = (): Problem =>
  new Problem("not_found", {
    detail: "You have no such channel.",
    next: "The account page shows your channels, and adds one.",
  });

/**
 * The problem when a caller requests a channel that it may not use. It does not reveal whether the
 * channel exists, because only callers with access may learn the names of channels.
 */
export const noUsableChannelProblem = (): Problem =>
  new Problem("not_found", {
    detail: "channel: there is none of that name that you may use.",
    next: "On the account page, its person adds channels, and lets applications and agents use one.",
  });

/** The parts of a caller that decide which channels it may use. */
export interface ChannelUser extends Pick<AlertOwner, "kind" | "accountId"> {
  readonly clientId?: string | undefined;
}

/**
 * Whether a caller may send alerts to a channel of its own account. The person and the person's API
 * keys may use every channel; other callers may use only shared channels.
 */
export const mayUseChannel = ({ kind, clientId }: ChannelUser, { isShared }: Channel): boolean =>
  isShared || kind === "service" || (kind === "user" && clientId === undefined);

/**
 * Requires that a channel can receive events.
 *
 * @param channelId `undefined` if no channel is requested.
 * @throws {Problem} `not_found` for a channel that the caller may not use; `wrong_state` for a
 * channel that must be verified first.
 */
export async function requireUsableChannel(
  records: RecordReader,
  caller: ChannelUser,
  channelId: string | undefined,
): Promise<void> {
  if (channelId === undefined) return;
  const channel = await requireChannel(records, caller.accountId, channelId);
  if (!mayUseChannel(caller, channel.value)) throw noUsableChannelProblem();
  const { is } = channel.value.state;
  if (is === "active" || is === "paused") return;
  throw new Problem("wrong_state", {
    detail: `The channel is ${is}, so that nothing is sent.`,
    next: "Its person has to enter the code that it is sent, on the account page.",
  });
}
