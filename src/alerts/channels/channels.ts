import { randomInt } from "node:crypto";
import { accounts } from "../../auth/accounts/accounts.ts";
import { accountRecordsGroup } from "../../auth/agents/agent.ts";
import type { Auditor } from "../../auth/auditor.ts";
import { isEqualConstantTime } from "../../auth/secrets.ts";
import { countInSharedQuota } from "../../limits/count-in-networks.ts";
import { countAgainstQuotasInOrder, type QuotaCounter } from "../../limits/count-in-order.ts";
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
  removeGroup,
  removeUnchanged,
  replace,
  requireUnchanged,
} from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records } from "../../store/port/records.ts";
import { ALERTS_TOPIC, accountAlertsGroup, alerts, type StoredAlert } from "../alert.ts";
import { lastSuccessfulDeliveryAt } from "../api/queries.ts";
import {
  ATTEMPT_ARCHIVE_KIND,
  DELIVERIES_TOPIC,
  type DeliveryAttempt,
  EVENT_RETENTION_MS,
  queuedDeliveriesGroup,
} from "../delivery/delivery.ts";
import { releaseHeldDeliveries } from "../delivery/held-deliveries.ts";
import {
  type Channel,
  type ChannelState,
  type ChannelTarget,
  type ChannelUser,
  channelCodeEncryptionContext,
  channelGroup,
  channelNotFoundProblem,
  channels,
  channelTargetEncryptionContext,
  decryptChannelTarget,
  groupsOfChannel,
  mayUseChannel,
  newChannelId,
  noUsableChannelProblem,
  requireChannel,
  type StoredChannel,
} from "./channel.ts";
import {
  channelAlreadyVerifiedProblem,
  channelCodeUnusableProblem,
  channelLimitProblem,
  channelNameTakenProblem,
  channelNotVerifiedProblem,
  MAX_CHANNELS_PER_ACCOUNT,
} from "./channel-problems.ts";
import {
  NOTICE_MESSAGE_TYPE,
  queueChannelMessage,
  VERIFICATION_CODE_MESSAGE_TYPE,
} from "./own-messages.ts";
import { type ChannelSchedule, IMMEDIATE_SCHEDULE } from "./schedule.ts";
import {
  type ChannelTargetFault,
  type ChannelTargetInput,
  channelTargetHint,
  channelTargetKey,
  parseChannelTarget,
} from "./targets.ts";
import { CHANNEL_CODE_LIFETIME_MINUTES, testMessage } from "./texts.ts";

/** Number of digits of a verification code. */
const CODE_DIGITS = 6;

/** Number of wrong attempts after which a verification code is invalid. */
const MAX_TRIES = 5;

const CODE_MS = CHANNEL_CODE_LIFETIME_MINUTES * 60_000;

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

/** A change of a channel, as one commit. */
interface ChannelChange {
  /** The changed channel; absent if the channel record stays unchanged. */
  readonly value?: Channel;
  /** Additional operations to commit with the change. */
  readonly operations: readonly Operation[];
}

/** Dependencies of `ChannelService`. */
export interface ChannelServiceOptions {
  readonly records: Records;
  readonly archive: Archive;
  readonly audit: Auditor;
  /** Encrypts the targets and codes of channels. */
  readonly vault: Vault;
  readonly limits: Limits;
  readonly now: () => Date;
  /** Display name of the service. */
  readonly serviceName: string;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  /** Decides which URLs a channel may have. */
  readonly urlPolicy: UrlPolicy;
}

/** Name of the channel that `addOwnMailbox` adds. */
export const OWN_MAILBOX_CHANNEL_NAME = "Email";

/** A channel that is not stored yet. */
type NewChannel = Pick<StoredChannel, "key" | "value" | "groups">;

/**
 * The channels in which people receive alerts. Every method works on the channels of the given
 * account and throws the problem `not_found` for any other channel. A channel receives only codes
 * until the person has entered the code that was sent to it.
 *
 * Methods that change something count against the limit `channel-change`. Methods that send a code
 * also count against `channel-code` and related limits. Any of them may throw `rate_limited`.
 */
export class ChannelService {
  readonly #options: ChannelServiceOptions;

  constructor(options: ChannelServiceOptions) {
    this.#options = options;
  }

  /** The channels of an account, sorted by name. */
  async list(accountId: string): Promise<readonly ChannelView[]> {
    const { records } = this.#options;
    const [own, all] = await Promise.all([
      readAll(records, channels, accountAlertsGroup(accountId)),
      readAll(records, alerts, accountAlertsGroup(accountId)),
    ]);
    const views = await Promise.all(own.map((channel) => this.#view(channel, all)));
    return views.toSorted(byName);
  }

  /** The channels of an account to which alerts can be sent, active or paused, sorted by name. */
  async usable(accountId: string): Promise<readonly Pick<Channel, "kind" | "name">[]> {
    const own = await readAll(this.#options.records, channels, accountAlertsGroup(accountId));
    return own
      .map(({ value }) => value)
      .filter(({ state: { is } }) => is === "active" || is === "paused")
      .toSorted(byName);
  }

  /**
   * Adds the email address of a person's account as their first channel, named
   * `OWN_MAILBOX_CHANNEL_NAME`. No verification code is needed, because signing in has already
   * proved access to the mailbox. Nothing is added if the account has any channel in any state, so
   * that an unsubscribed mailbox is not added again.
   *
   * @param email Email address of the account.
   */
  async addOwnMailbox(accountId: string, email: string): Promise<void> {
    if (!(await this.hasNone(accountId))) return;
    await this.#count([["channel-change", accountId]]);
    do {
      const target = { kind: "email", to: email } as const;
      const at = this.#options.now().getTime();
      const channel = this.#newChannel({ accountId, name: OWN_MAILBOX_CHANNEL_NAME }, target, () =>
        active(at),
      );
      if (await this.#insert(channel, [])) return;
    } while (await this.hasNone(accountId));
  }

  /** Whether an account has no channels, regardless of their state. */
  async hasNone(accountId: string): Promise<boolean> {
    const group = accountAlertsGroup(accountId);
    return (await this.#options.records.list(channels, { group, limit: 1 })).length === 0;
  }

  /**
   * Finds the id of a channel by name, if the caller may use the channel.
   *
   * @throws {Problem} `not_found`.
   */
  async idOf(caller: ChannelUser, name: string): Promise<string> {
    const { accountId } = caller;
    if (accountId === undefined) throw noUsableChannelProblem();
    const own = await readAll(this.#options.records, channels, accountAlertsGroup(accountId));
    const found = own.find(({ value }) => nameKey(value.name) === nameKey(name));
    if (found === undefined || !mayUseChannel(caller, found.value)) throw noUsableChannelProblem();
    return found.key;
  }

  /**
   * Adds a channel and sends it a verification code.
   *
   * @param typed The target, as the person typed it.
   * @returns The id of the channel, or what is wrong with the target.
   * @throws {Problem} `alert_limit`; `invalid_request` when the name is taken.
   */
  async add(
    accountId: string,
    name: string,
    typed: ChannelTargetInput,
  ): Promise<string | ChannelTargetFault> {
    const target = parseChannelTarget(typed, this.#options.urlPolicy);
    if ("fault" in target) return target;
    await this.#countCode(accountId, target);
    const channel = this.#newChannel({ accountId, name }, target, (key) => this.#pending(key));
    while (!(await this.#insert(channel, this.#queueCode(channel))));
    return channel.key;
  }

  /**
   * Builds a channel with a new id.
   *
   * @param stateOf Creates the state of the channel, given the new id.
   */
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
      schedule: IMMEDIATE_SCHEDULE,
      isShared: false,
      createdAt: now().getTime(),
      target: vault.seal(JSON.stringify(target), channelTargetEncryptionContext(key)),
      hint: channelTargetHint(target),
      state: stateOf(key),
    };
    const groups = [
      ...groupsOfChannel(key, accountId),
      ...(target.kind === "email" ? [emailGroup(target.to)] : []),
    ];
    return { key, value, groups };
  }

  /**
   * Inserts a channel together with other operations.
   *
   * @returns `false` if a concurrent change made the commit fail.
   * @throws {Problem} `alert_limit`; `invalid_request` when the name is taken.
   */
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

  /**
   * Sends a new code to a channel that is not verified yet or was disabled.
   *
   * @throws {Problem} `wrong_state` when the channel is already verified.
   */
  async sendCode(accountId: string, channelId: string): Promise<void> {
    const { vault, records } = this.#options;
    const { key, value } = await requireChannel(records, accountId, channelId);
    await this.#countCode(accountId, decryptChannelTarget(vault, { key, value }));
    await this.#change(accountId, channelId, "channel.code_sent", (channel) => {
      const { is } = channel.value.state;
      if (is !== "pending" && is !== "disabled") throw channelAlreadyVerifiedProblem();
      const changed = { key: channelId, value: { ...channel.value, state: this.#pending(key) } };
      return { value: changed.value, operations: this.#queueCode(changed) };
    });
  }

  /**
   * Verifies a channel with the code that the person typed.
   *
   * @returns Whether the code was correct.
   * @throws {Problem} `wrong_state` when the channel has no valid code.
   */
  async verify(accountId: string, channelId: string, typed: string): Promise<boolean> {
    const { vault, now } = this.#options;
    await this.#count([["channel-change", accountId]]);
    const at = now().getTime();
    let isRight = false;
    await this.#change(accountId, channelId, "channel.code_entered", (channel) => {
      const { state } = channel.value;
      if (state.is !== "pending") throw channelAlreadyVerifiedProblem();
      if (state.code === null || at >= state.codeUntil) throw channelCodeUnusableProblem();
      const code = vault.open(state.code, channelCodeEncryptionContext(channelId));
      isRight = isEqualConstantTime(code, typed.replace(/[\s-]/g, ""));
      const value = { ...channel.value, state: isRight ? active(at) : withWrongTry(state) };
      return { value, operations: isRight ? releaseHeldDeliveries(channel) : [] };
    });
    return isRight;
  }

  /** Changes the schedule of a channel. Deliveries that are waiting follow the new schedule. */
  async setSchedule(
    accountId: string,
    channelId: string,
    schedule: ChannelSchedule,
  ): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    await this.#change(accountId, channelId, "channel.scheduled", (channel) => ({
      value: { ...channel.value, schedule },
      operations: releaseHeldDeliveries(channel),
    }));
  }

  /**
   * Pauses a channel, so that its deliveries wait, or resumes it.
   *
   * @throws {Problem} `wrong_state` when the channel must be verified first.
   */
  async setPaused(accountId: string, channelId: string, isPaused: boolean): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    const since = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.paused", (channel) => {
      const { is } = channel.value.state;
      if (is !== "active" && is !== "paused") throw channelNotVerifiedProblem();
      const state: ChannelState = isPaused ? { is: "paused", since } : active(since);
      return {
        value: { ...channel.value, state },
        operations: isPaused ? [] : releaseHeldDeliveries(channel),
      };
    });
  }

  /**
   * Allows or forbids the person's applications and agents to send alerts to a channel. When
   * sharing is turned off, their alerts on this channel change to polling: events are still
   * recorded, but not sent.
   */
  async setShared(accountId: string, channelId: string, isShared: boolean): Promise<void> {
    const { records } = this.#options;
    await this.#count([["channel-change", accountId]]);
    const action = isShared ? "channel.shared" : "channel.unshared";
    await this.#change(accountId, channelId, action, async ({ value: before }) => {
      const value = { ...before, isShared };
      const all = await readAll(records, alerts, accountAlertsGroup(accountId));
      const ended = all.filter(
        (alert) => isSentTo(alert, channelId) && !mayUseChannel(alert.value.owner, value),
      );
      return { value, operations: ended.flatMap(polledFromNow) };
    });
  }

  /**
   * Sends a test message immediately, regardless of the channel's schedule.
   *
   * @throws {Problem} `wrong_state` unless the channel is active.
   */
  async test(accountId: string, channelId: string): Promise<void> {
    await this.#count([["channel-change", accountId]]);
    const body = JSON.stringify(testMessage(this.#options));
    const at = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.tested", (channel) => {
      if (channel.value.state.is !== "active") throw channelNotVerifiedProblem();
      const content = { type: NOTICE_MESSAGE_TYPE, body, isRepeat: true, at } as const;
      const { operation } = queueChannelMessage(channel, { ...content, ttlMs: EVENT_RETENTION_MS });
      return { operations: [operation, announce(DELIVERIES_TOPIC)] };
    });
  }

  /**
   * Removes a channel with its queued deliveries. Alerts on this channel change to polling: their
   * events are still recorded, but not sent.
   */
  async remove(accountId: string, channelId: string): Promise<void> {
    const { records, audit } = this.#options;
    await this.#count([["channel-change", accountId]]);
    for (;;) {
      const channel = await requireChannel(records, accountId, channelId);
      const all = await readAll(records, alerts, accountAlertsGroup(accountId));
      const isRemoved = await records.commit([
        removeUnchanged(channels, channel),
        ...all.filter((alert) => isSentTo(alert, channelId)).flatMap(polledFromNow),
        removeGroup(queuedDeliveriesGroup(channelId)),
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
      archive.read(ATTEMPT_ARCHIVE_KIND, {
        subject: id,
        from: now().getTime() - EVENT_RETENTION_MS,
        order: "newest",
        limit: 1,
      }),
      ...[id, ...own.map(({ key }) => key)].map((each) =>
        lastSuccessfulDeliveryAt(this.#options, each),
      ),
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

  /** The state of a channel that must be verified, with a new code. */
  #pending(channelId: string): ChannelState {
    const since = this.#options.now().getTime();
    const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, "0");
    return {
      is: "pending",
      since,
      codeUntil: since + CODE_MS,
      triesLeft: MAX_TRIES,
      code: this.#options.vault.seal(code, channelCodeEncryptionContext(channelId)),
    };
  }

  #queueCode(channel: Pick<StoredChannel, "key" | "value">): readonly Operation[] {
    const at = channel.value.state.since;
    const content = { type: VERIFICATION_CODE_MESSAGE_TYPE, body: String(at), at, ttlMs: CODE_MS };
    return [queueChannelMessage(channel, content).operation, announce(DELIVERIES_TOPIC)];
  }

  /** Commits a change, and retries if the channel was changed concurrently. */
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
        value === undefined
          ? requireUnchanged(channels, channel)
          : replace(channels, channel, { value }),
        ...operations,
        ...audit({ action, actor: accountId, target: channelId }),
      ]);
      if (isWritten) return;
    }
  }

  /**
   * The operations that let a commit add a channel only if the account exists, has fewer than the
   * maximum number of channels and has no other channel with this name.
   */
  async #reserve(accountId: string, name: string): Promise<readonly Operation[]> {
    const { records } = this.#options;
    const lock = { key: `channels ${accountId}`, groups: [accountRecordsGroup(accountId)] };
    const version = await readVersion(records, lock);
    const [own, account] = await Promise.all([
      readAll(records, channels, accountAlertsGroup(accountId)),
      records.get(accounts, accountId),
    ]);
    if (account === undefined) throw channelNotFoundProblem();
    if (own.length >= MAX_CHANNELS_PER_ACCOUNT) throw channelLimitProblem();
    if (own.some(({ value }) => nameKey(value.name) === nameKey(name)))
      throw channelNameTakenProblem();
    return [requireUnchanged(accounts, account), incrementVersion(lock, version)];
  }

  /**
   * Counts a code against four limits: the person's changes, the person's codes, the person's codes
   * to this target, and all codes to this target, which may belong to someone else. For ntfy, where
   * a person can choose any host, a limit per host applies too.
   *
   * @throws {Problem} `rate_limited`.
   */
  async #countCode(accountId: string, target: ChannelTarget): Promise<void> {
    const { limits } = this.#options;
    const key = channelTargetKey(target);
    const counted = await this.#count([
      ["channel-change", accountId],
      ["channel-code", accountId],
      ["channel-code-target", `${accountId} ${key}`],
    ]);
    const ofTarget = counted.slice(-1);
    const ofAll = [await countInSharedQuota(limits, ofTarget, ["channel-code-target-all", key])];
    if (target.kind === "ntfy") {
      const { hostname } = new URL(target.url);
      ofAll.push(await countInSharedQuota(limits, ofTarget, ["challenge-host-all", hostname]));
    }
    const refusal = rateLimitProblem(ofAll);
    if (refusal !== undefined) throw refusal;
  }

  async #count(counters: readonly QuotaCounter[]) {
    const counted = await countAgainstQuotasInOrder(this.#options.limits, counters);
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
