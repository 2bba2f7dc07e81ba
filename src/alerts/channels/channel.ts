import { accountRecordsGroup } from "../../auth/agents/agent.ts";
import { randomBase62 } from "../../lib/base62.ts";
import { Problem } from "../../problem.ts";
import type { Vault } from "../../store/keys/vault.ts";
import { replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import { accountGroup, type Owner } from "../alert.ts";
import type { ChannelSchedule } from "./schedule.ts";

/** Target of a channel of each kind. */
export interface ChannelTargets {
  readonly email: {
    /** Normalized address. */
    readonly to: string;
  };
  readonly slack: {
    /** Incoming webhook. */
    readonly url: string;
  };
  readonly discord: {
    /** Webhook. */
    readonly url: string;
  };
  readonly telegram: {
    /** Token of a bot. */
    readonly token: string;
    /** Number of a chat, or `@` and the name of a public one. */
    readonly chatId: string;
  };
  readonly ntfy: {
    /** URL of a topic. */
    readonly url: string;
    /** Access token, where the topic needs one. */
    readonly token?: string;
  };
}

/** Kinds of channels. */
export const CHANNEL_KINDS = ["email", "slack", "discord", "telegram", "ntfy"] as const;
/** A kind of channel. */
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

/** Kinds that are sent requests; email goes through the outbox. */
export type ChatKind = Exclude<ChannelKind, "email">;

/** The target of a channel, with its kind. */
export type ChannelTarget = {
  readonly [K in ChannelKind]: { readonly kind: K } & ChannelTargets[K];
}[ChannelKind];

/** Whether messages may be sent to a channel. Instants are milliseconds since the epoch. */
export type ChannelState =
  /** The person has not entered the code that was sent to the channel. Only codes are sent. */
  | {
      readonly is: "pending";
      readonly since: number;
      /** The code, encrypted for `codeContext(id)`; `null` once it was guessed wrong too often. */
      readonly code: string | null;
      readonly codeUntil: number;
      readonly triesLeft: number;
    }
  | { readonly is: "active"; readonly since: number }
  /** Messages wait until its person resumes it. */
  | { readonly is: "paused"; readonly since: number }
  /** Nothing is sent until its person verifies it again. */
  | {
      readonly is: "disabled";
      readonly since: number;
      /** `gone`: the service says that the target does not exist any more; `failing`: five days
       *  without a success; `unsubscribed`: somebody used the link in an email. */
      readonly reason: "gone" | "failing" | "unsubscribed";
    };

/** A place where a person receives events: a mailbox or a chat. */
export interface Channel {
  readonly accountId: string;
  readonly kind: ChannelKind;
  /** Given by its person; unique in the account without regard to case. */
  readonly name: string;
  /** The `ChannelTarget` as JSON, encrypted for `targetContext(id)`. */
  readonly target: string;
  /** The part of the target that is not secret, by which its person recognizes it. */
  readonly hint: string;
  readonly state: ChannelState;
  readonly schedule: ChannelSchedule;
  /** Whether its person lets their applications and agents send alerts to it. */
  readonly isShared: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** Channels by their id: `chan_` and 16 characters of base 62. */
export const channels = collection<Channel>("channels");

/** A channel with its key, revision and groups. */
export type StoredChannel = Stored<Channel>;

/** Number of random characters in an id. */
const ID_LENGTH = 16;

const ID = new RegExp(`^chan_[0-9A-Za-z]{${ID_LENGTH}}$`);

/** A new id of a channel. */
export const newChannelId = (): string => `chan_${randomBase62(ID_LENGTH)}`;

/** Group of everything that is deleted with a channel. */
export const channelGroup = (channelId: string): string => `channel:${channelId}`;

/** Groups of a channel and of its own messages. */
export const groupsOfChannel = (channelId: string, accountId: string): readonly string[] => [
  channelGroup(channelId),
  accountGroup(accountId),
  accountRecordsGroup(accountId),
];

/** Context that the target of a channel is bound to when it is encrypted. */
export const targetContext = (channelId: string): string => `channel-target:${channelId}`;

/** Context that the code of a channel is bound to when it is encrypted. */
export const codeContext = (channelId: string): string => `channel-code:${channelId}`;

/** The target of a channel. @throws {Error} If the key that encrypted it no longer exists. */
export const openTarget = (
  vault: Vault,
  { key, value }: Pick<StoredChannel, "key" | "value">,
): ChannelTarget => JSON.parse(vault.open(value.target, targetContext(key))) as ChannelTarget;

/** The channel of an account with an id. @throws {Problem} `not_found`, also for that of another account:
 *  ids of others are not revealed. */
export async function requireChannel(
  records: Records,
  accountId: string | undefined,
  channelId: string,
): Promise<StoredChannel> {
  const found = ID.test(channelId) ? await records.get(channels, channelId) : undefined;
  if (found !== undefined && found.value.accountId === accountId) return found;
  throw noChannel();
}

/** The problem when the account does not have the requested channel. */
export const noChannel = (): Problem =>
  new Problem("not_found", {
    detail: "You have no such channel.",
    next: "The account page shows your channels, and adds one.",
  });

/** The problem when a caller names a channel that it may not use. It does not reveal whether the
 *  channel exists, since only callers with access may learn the names. */
export const noUsableChannel = (): Problem =>
  new Problem("not_found", {
    detail: "channel: there is none of that name that you may use.",
    next: "On the account page, its person adds channels, and lets applications and agents use one.",
  });

/** A caller that names a channel. */
export interface ChannelUser extends Pick<Owner, "kind" | "accountId"> {
  readonly clientId?: string | undefined;
}

/** Whether a caller may send alerts to a channel of its account. A person's own keys may use every
 *  channel that the person may use. */
export const mayUse = ({ kind, clientId }: ChannelUser, { isShared }: Channel): boolean =>
  isShared || kind === "service" || (kind === "user" && clientId === undefined);

/**
 * The operations that let a commit direct events to a channel, and fail it unless the channel can
 * receive them. They change the channel's revision, so that a concurrent deletion, which did not
 * see the alert, fails.
 *
 * @param channelId `undefined` if no channel is requested.
 * @throws {Problem} `not_found` for a channel that the caller may not use; `wrong_state` for one that its
 *   person has to verify.
 */
export async function keepChannel(
  records: Records,
  caller: ChannelUser,
  channelId: string | undefined,
): Promise<readonly Operation[]> {
  if (channelId === undefined) return [];
  const channel = await requireChannel(records, caller.accountId, channelId);
  if (!mayUse(caller, channel.value)) throw noUsableChannel();
  const { is } = channel.value.state;
  if (is === "active" || is === "paused") {
    return [replace(channels, channel, { value: channel.value })];
  }
  throw new Problem("wrong_state", {
    detail: `The channel is ${is}, so that nothing is sent.`,
    next: "Its person has to enter the code that it is sent, on the account page.",
  });
}
