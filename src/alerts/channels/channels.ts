import { randomInt } from "node:crypto";
import { accounts } from "../../auth/accounts/accounts.ts";
import { accountRecordsGroup } from "../../auth/agents/agent.ts";
import type { Auditor } from "../../auth/auditor.ts";
import { isEqualConstantTime } from "../../auth/secrets.ts";
import { countForAll } from "../../limits/count-in-networks.ts";
import { type Counter, countInOrder } from "../../limits/count-in-order.ts";
import type { Limits } from "../../limits/quotas.ts";
import { rateLimitProblem } from "../../limits/rate-limit-problem.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { UrlPolicy } from "../../outbound/url-policy.ts";
import type { Vault } from "../../store/keys/vault.ts";
import { incrementVersion, readVersion } from "../../store/optimistic-lock.ts";
import type { Archive } from "../../store/port/archive.ts";
import {
  announce,
  insert,
  removeAt,
  removeGroup,
  replace,
  unchanged,
} from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { ALERTS_TOPIC, accountGroup, alerts, type StoredAlert } from "../alert.ts";
import { lastSuccess } from "../api/queries.ts";
import {
  ATTEMPT_KIND,
  type Attempt,
  DELIVERIES_TOPIC,
  EVENTS_KEPT_MS,
  queueGroup,
} from "../delivery/delivery.ts";
import { releaseHeld } from "../delivery/held-deliveries.ts";
import {
  type Channel,
  type ChannelState,
  type ChannelTarget,
  type ChannelUser,
  channelGroup,
  channels,
  codeContext,
  groupsOfChannel,
  mayUse,
  newChannelId,
  noChannel,
  noUsableChannel,
  openTarget,
  requireChannel,
  type StoredChannel,
  targetContext,
} from "./channel.ts";
import {
  codeEnded,
  full,
  MAX_CHANNELS,
  nameTaken,
  notVerified,
  verified,
} from "./channel-problems.ts";
import { CODE_TYPE, NOTICE_TYPE, queueOwnMessage } from "./own-messages.ts";
import { AT_ONCE, type ChannelSchedule } from "./schedule.ts";
import { hintOf, type TargetFault, type TypedTarget, targetKey, targetOf } from "./targets.ts";
import { CODE_MINUTES, testMessage } from "./texts.ts";

/** Digits of a code. */
const CODE_DIGITS = 6;

/** Wrong tries after which a code is invalid. */
const MAX_TRIES = 5;

const CODE_MS = CODE_MINUTES * 60_000;

/** A channel as its person sees it. */
export interface ChannelView
  extends Pick<Channel, "kind" | "name" | "hint" | "schedule" | "isShared" | "createdAt"> {
  readonly id: string;
  readonly state: ChannelState;
  /** When it last accepted a message, milliseconds since the epoch; `undefined` if it has not done
   *  so recently. */
  readonly lastSuccessAt: number | undefined;
  /** The last attempt to send its code or a test; `undefined` if there was none recently. */
  readonly lastAttempt: Pick<Attempt, "error" | "status"> | undefined;
  /** Alerts that send to it. */
  readonly alerts: number;
}

/** A change of a channel. */
interface ChannelChange {
  /** Absent if the channel itself is unchanged. */
  readonly value?: Channel;
  /** Further operations of the commit. */
  readonly operations: readonly Operation[];
}

/** Dependencies of the channels. */
export interface ChannelsOptions {
  readonly records: Records;
  readonly archive: Archive;
  readonly audit: Auditor;
  /** Encrypts targets and codes. */
  readonly vault: Vault;
  readonly limits: Limits;
  readonly now: () => Date;
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Which URLs a channel may have. */
  readonly urlPolicy: UrlPolicy;
}

/** Name of the channel that `addOwnMailbox` adds. */
export const OWN_MAILBOX = "Email";

/** A channel to insert. */
type NewChannel = Pick<StoredChannel, "key" | "value" | "groups">;

/**
 * The channels of people: places where alerts reach them. Every method works on the channels of the account
 * and throws the problem `not_found` for any other. Until its person has entered the code that was
 * sent to it, a channel receives only codes.
 *
 * Methods that change something count against the limit `channel-change`, those that send a code
 * against `channel-code` and related limits. Both may throw `rate_limited`.
 */
export class Channels {
  readonly #options: ChannelsOptions;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  /** The channels of an account, by name. */
  async list(accountId: string): Promise<readonly ChannelView[]> {
    const { records } = this.#options;
    const [own, all] = await Promise.all([
      readAll(records, channels, accountGroup(accountId)),
      readAll(records, alerts, accountGroup(accountId)),
    ]);
    const views = await Promise.all(own.map((channel) => this.#view(channel, all)));
    return views.toSorted(byName);
  }

  /** The channels of an account to which an alert can be sent, by name. */
  async usable(accountId: string): Promise<readonly Pick<Channel, "kind" | "name">[]> {
    const own = await readAll(this.#options.records, channels, accountGroup(accountId));
    return own
      .map(({ value }) => value)
      .filter(({ state: { is } }) => is === "active" || is === "paused")
      .toSorted(byName);
  }

  /**
   * Adds the mailbox by which a person signs in as their first channel, named `OWN_MAILBOX`. It needs no
   * code, since whoever is signed in has read the one that was sent there. With any other channel, of any
   * state, it adds none: a mailbox that was unsubscribed stays so.
   *
   * @param email Email address of the account.
   */
  async addOwnMailbox(accountId: string, email: string): Promise<void> {
    if (!(await this.hasNone(accountId))) return;
    await this.#count([["channel-change", accountId]]);
    do {
      const target = { kind: "email", to: email } as const;
      const at = this.#options.now().getTime();
      const channel = this.#newChannel({ accountId, name: OWN_MAILBOX }, target, () => active(at));
      if (await this.#insert(channel, [])) return;
    } while (await this.hasNone(accountId));
  }

  /** Whether an account has no channel, of any state. */
  async hasNone(accountId: string): Promise<boolean> {
    const group = accountGroup(accountId);
    return (await this.#options.records.list(channels, { group, limit: 1 })).length === 0;
  }

  /** Id of the channel with a name that a caller may use. @throws {Problem} `not_found`. */
  async idOf(caller: ChannelUser, name: string): Promise<string> {
    const { accountId } = caller;
    if (accountId === undefined) throw noUsableChannel();
    const own = await readAll(this.#options.records, channels, accountGroup(accountId));
    const found = own.find(({ value }) => nameKey(value.name) === nameKey(name));
    if (found === undefined || !mayUse(caller, found.value)) throw noUsableChannel();
    return found.key;
  }

  /**
   * Adds a channel and sends it a code.
   *
   * @param typed The target, as typed.
   * @returns The id of the channel, or the fault of the target.
   * @throws {Problem} `alert_limit`; `invalid_request` when the name is taken.
   */
  async add(accountId: string, name: string, typed: TypedTarget): Promise<string | TargetFault> {
    const target = targetOf(typed, this.#options.urlPolicy);
    if ("fault" in target) return target;
    await this.#countCode(accountId, target);
    const channel = this.#newChannel({ accountId, name }, target, (key) => this.#pending(key));
    while (!(await this.#insert(channel, this.#queueCode(channel))));
    return channel.key;
  }

  /** A channel with a new id. @param stateOf Its state, by that id. */
  #newChannel(
    { accountId, name }: Pick<Channel, "accountId" | "name">,
    target: ChannelTarget,
    stateOf: (channelId: string) => ChannelState,
  ): NewChannel {
    const { vault, now } = this.#options;
    const key = newChannelId();
    const value: Channel = {
      accountId,
      name,
      kind: target.kind,
      schedule: AT_ONCE,
      isShared: false,
      createdAt: now().getTime(),
      target: vault.seal(JSON.stringify(target), targetContext(key)),
      hint: hintOf(target),
      state: stateOf(key),
    };
    const groups = [
      ...groupsOfChannel(key, accountId),
      ...(target.kind === "email" ? [emailGroup(target.to)] : []),
    ];
    return { key, value, groups };
  }

  /** Inserts a channel together with other operations. @returns Whether nothing changed meanwhile.
   *  @throws {Problem} `alert_limit`; `invalid_request` when the name is taken. */
  async #insert(channel: NewChannel, operations: readonly Operation[]): Promise<boolean> {
    const { records, audit } = this.#options;
    const { accountId, name } = channel.value;
    return records.commit([
      ...(await this.#reserve(accountId, name)),
      insert(channels, channel),
      ...operations,
      ...audit({ action: "channel.added", actor: accountId, target: channel.key }),
    ]);
  }

  /** Sends a new code to a channel that is to be verified, the first time or again. @throws {Problem}
   *  `wrong_state` when it is verified. */
  async sendCode(accountId: string, channelId: string): Promise<void> {
    const { vault, records } = this.#options;
    const { key, value } = await requireChannel(records, accountId, channelId);
    await this.#countCode(accountId, openTarget(vault, { key, value }));
    await this.#change(accountId, channelId, "channel.code_sent", (channel) => {
      const { is } = channel.value.state;
      if (is !== "pending" && is !== "disabled") throw verified();
      const changed = { key: channelId, value: { ...channel.value, state: this.#pending(key) } };
      return { value: changed.value, operations: this.#queueCode(changed) };
    });
  }

  /** Verifies a channel. @returns Whether the code was right. @throws {Problem} `wrong_state` when there is no
   *  valid code. */
  async verify(accountId: string, channelId: string, typed: string): Promise<boolean> {
    const { vault, now } = this.#options;
    await this.#count([["channel-change", accountId]]);
    const at = now().getTime();
    let isRight = false;
    await this.#change(accountId, channelId, "channel.code_entered", (channel) => {
      const { state } = channel.value;
      if (state.is !== "pending") throw verified();
      if (state.code === null || at >= state.codeUntil) throw codeEnded();
      const code = vault.open(state.code, codeContext(channelId));
      isRight = isEqualConstantTime(code, typed.replace(/[\s-]/g, ""));
      const value = { ...channel.value, state: isRight ? active(at) : withWrongTry(state) };
      return { value, operations: isRight ? releaseHeld(channel) : [] };
    });
    return isRight;
  }

  /** Gives a channel another schedule. Waiting deliveries follow the new one. */
  async setSchedule(
    accountId: string,
    channelId: string,
    schedule: ChannelSchedule,
  ): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    await this.#change(accountId, channelId, "channel.scheduled", (channel) => ({
      value: { ...channel.value, schedule },
      operations: releaseHeld(channel),
    }));
  }

  /** Pauses a channel, so that its deliveries wait, or resumes it. @throws {Problem} `wrong_state`
   *  when its person has to verify it. */
  async setPaused(accountId: string, channelId: string, isPaused: boolean): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    const since = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.paused", (channel) => {
      const { is } = channel.value.state;
      if (is !== "active" && is !== "paused") throw notVerified();
      const state: ChannelState = isPaused ? { is: "paused", since } : active(since);
      return {
        value: { ...channel.value, state },
        operations: isPaused ? [] : releaseHeld(channel),
      };
    });
  }

  /** Allows the person's applications and agents to send alerts to a channel, or forbids it. When
   *  it is forbidden, events of their alerts on this channel are recorded but not sent. */
  async setShared(accountId: string, channelId: string, isShared: boolean): Promise<void> {
    const { records } = this.#options;
    await this.#count([["channel-change", accountId]]);
    const action = isShared ? "channel.shared" : "channel.unshared";
    await this.#change(accountId, channelId, action, async ({ value: before }) => {
      const value = { ...before, isShared };
      const all = await readAll(records, alerts, accountGroup(accountId));
      const ended = all.filter(
        (alert) => isSentTo(alert, channelId) && !mayUse(alert.value.owner, value),
      );
      return { value, operations: ended.flatMap(polledFromNow) };
    });
  }

  /** Sends a test at once, whatever the schedule. @throws {Problem} `wrong_state` unless it is active. */
  async test(accountId: string, channelId: string): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    const body = JSON.stringify(testMessage(this.#options));
    const at = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.tested", (channel) => {
      if (channel.value.state.is !== "active") throw notVerified();
      const content = { type: NOTICE_TYPE, body, isRepeat: true, at } as const;
      const { operation } = queueOwnMessage(channel, { ...content, ttlMs: EVENTS_KEPT_MS });
      return { operations: [operation, announce(DELIVERIES_TOPIC)] };
    });
  }

  /** Removes a channel with its queued deliveries. Events of alerts on this channel are recorded
   *  but not sent from then on. */
  async remove(accountId: string, channelId: string): Promise<void> {
    const { records, audit } = this.#options;
    await this.#count([["channel-change", accountId]]);
    for (;;) {
      const channel = await requireChannel(records, accountId, channelId);
      const all = await readAll(records, alerts, accountGroup(accountId));
      const isRemoved = await records.commit([
        removeAt(channels, channel),
        ...all.filter((alert) => isSentTo(alert, channelId)).flatMap(polledFromNow),
        removeGroup(queueGroup(channelId)),
        removeGroup(channelGroup(channelId)),
        ...audit({ action: "channel.deleted", actor: accountId, target: channelId }),
      ]);
      if (isRemoved) return;
    }
  }

  async #view(
    { key: id, value }: StoredChannel,
    all: readonly StoredAlert[],
  ): Promise<ChannelView> {
    const { archive, now } = this.#options;
    const { kind, name, hint, schedule, isShared, createdAt, state } = value;
    const own = all.filter((alert) => isSentTo(alert, id));
    const [rows, ...successes] = await Promise.all([
      archive.read(ATTEMPT_KIND, {
        subject: id,
        from: now().getTime() - EVENTS_KEPT_MS,
        order: "newest",
        limit: 1,
      }),
      ...[id, ...own.map(({ key }) => key)].map((each) => lastSuccess(this.#options, each)),
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
      lastAttempt: rows[0]?.body as Attempt | undefined,
      alerts: own.length,
    };
  }

  /** The state of a channel that has not been verified, with a new code. */
  #pending(channelId: string): ChannelState {
    const since = this.#options.now().getTime();
    const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0");
    return {
      is: "pending",
      since,
      codeUntil: since + CODE_MS,
      triesLeft: MAX_TRIES,
      code: this.#options.vault.seal(code, codeContext(channelId)),
    };
  }

  #queueCode(channel: Pick<StoredChannel, "key" | "value">): readonly Operation[] {
    const at = channel.value.state.since;
    const content = { type: CODE_TYPE, body: String(at), at, ttlMs: CODE_MS };
    return [queueOwnMessage(channel, content).operation, announce(DELIVERIES_TOPIC)];
  }

  /** Commits a change, and repeats it when the channel was changed meanwhile. */
  async #change(
    accountId: string,
    channelId: string,
    action: string,
    change: (channel: StoredChannel) => ChannelChange | Promise<ChannelChange>,
  ): Promise<void> {
    const { records, audit } = this.#options;
    for (;;) {
      const channel = await requireChannel(records, accountId, channelId);
      const { value, operations } = await change(channel);
      const isWritten = await records.commit([
        value === undefined ? unchanged(channels, channel) : replace(channels, channel, { value }),
        ...operations,
        ...audit({ action, actor: accountId, target: channelId }),
      ]);
      if (isWritten) return;
    }
  }

  /** The operations with which a commit adds a channel only while there is room, no other has its name, and
   *  the account exists. */
  async #reserve(accountId: string, name: string): Promise<readonly Operation[]> {
    const { records } = this.#options;
    const lock = { key: `channels ${accountId}`, groups: [accountRecordsGroup(accountId)] };
    const version = await readVersion(records, lock);
    const [own, account] = await Promise.all([
      readAll(records, channels, accountGroup(accountId)),
      records.get(accounts, accountId),
    ]);
    if (account === undefined) throw noChannel();
    if (own.length >= MAX_CHANNELS) throw full();
    if (own.some(({ value }) => nameKey(value.name) === nameKey(name))) throw nameTaken();
    return [unchanged(accounts, account), incrementVersion(lock, version)];
  }

  /** Counts a code against the limits of the person, of the person at this target, and of the
   *  target, which may belong to somebody else; also against that of the host, where a person can
   *  name any host. @throws {Problem} `rate_limited`. */
  async #countCode(accountId: string, target: ChannelTarget): Promise<void> {
    const { limits } = this.#options;
    const key = targetKey(target);
    const counted = await this.#count([
      ["channel-change", accountId],
      ["channel-code", accountId],
      ["channel-code-target", `${accountId} ${key}`],
    ]);
    const ofTarget = counted.slice(-1);
    const ofAll = [await countForAll(limits, ofTarget, ["channel-code-target-all", key])];
    if (target.kind === "ntfy") {
      const { hostname } = new URL(target.url);
      ofAll.push(await countForAll(limits, ofTarget, ["challenge-host-all", hostname]));
    }
    const refusal = rateLimitProblem(ofAll);
    if (refusal !== undefined) throw refusal;
  }

  async #count(counters: readonly Counter[]) {
    const counted = await countInOrder(this.#options.limits, counters);
    const refusal = rateLimitProblem(counted);
    if (refusal !== undefined) throw refusal;
    return counted;
  }
}

const nameKey = (name: string): string => name.toLowerCase();

const byName = (one: Pick<Channel, "name">, other: Pick<Channel, "name">): number =>
  nameKey(one.name) < nameKey(other.name) ? -1 : 1;

const active = (since: number): ChannelState => ({ is: "active", since });

function withWrongTry(state: Extract<ChannelState, { is: "pending" }>): ChannelState {
  const triesLeft = state.triesLeft - 1;
  return { ...state, triesLeft, code: triesLeft > 0 ? state.code : null };
}

const isSentTo = ({ value: { way } }: StoredAlert, channelId: string): boolean =>
  way.by === "channel" && way.channelId === channelId;

const polledFromNow = (alert: StoredAlert): readonly Operation[] => [
  replace(alerts, alert, { value: { ...alert.value, way: { by: "poll" } } }),
  announce(ALERTS_TOPIC, alert.key),
];
