import type { Auditor } from "../../access/auditor.ts";
import { callerAddress } from "../../access/auditor.ts";
import type { Vault } from "../../keys/vault.ts";
import { partyAt } from "../../limits/address-key.ts";
import { GuessGuard } from "../../limits/guess-guard.ts";
import type { Limits } from "../../limits/limits.ts";
import { requireAdmission, requireAdmissions } from "../../limits/rate-limit-problem.ts";
import { emailGroup, mailboxOf } from "../../mail/email-address.ts";
import { countedHost, type UrlPolicy } from "../../outbound/url-policy.ts";
import { accounts } from "../../principals/accounts/accounts.ts";
import type { Archive } from "../../store/port/archive.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { RecordReader, Records } from "../../store/port/records.ts";
import { type Kept, readKept, updateKept } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  ALERTS_TOPIC,
  type Alert,
  accountAlertsGroup,
  alerts,
  isSentToChannel,
  networkRecordsGroup,
} from "../alert.ts";
import { type AlertCapacity, networkWithRoom, type Room } from "../capacity.ts";
import {
  DELIVERIES_TOPIC,
  EVENT_RETENTION_MS,
  queuedDeliveriesGroup,
} from "../delivery/delivery.ts";
import { releaseHeldDeliveries } from "../delivery/held-deliveries.ts";
import {
  type Channel,
  type ChannelState,
  type ChannelUser,
  channelGroup,
  channelNotFoundProblem,
  channels,
  channelTargetEncryptionContext,
  decryptChannelTarget,
  MAX_CHANNELS_PER_ACCOUNT,
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
} from "./channel-problems.ts";
import { type ChannelView, channelViewOf } from "./channel-view.ts";
import { NOTICE_MESSAGE_TYPE, queueChannelMessage } from "./own-messages.ts";
import { type ChannelSchedule, IMMEDIATE_SCHEDULE } from "./schedule.ts";
import type { TargetFault } from "./services/service.ts";
import {
  type ChannelTarget,
  type ChannelTargetInput,
  channelTargetHint,
  channelTargetKey,
  chosenUrl,
  parseChannelTarget,
} from "./targets.ts";
import { testMessage } from "./texts.ts";
import {
  isCorrectCode,
  pendingState,
  sendVerificationCode,
  withWrongTry,
} from "./verification-code.ts";

/** Dependencies of `ChannelService`. */
interface ChannelServiceOptions {
  readonly records: Records;
  readonly archive: Archive;
  readonly audit: Auditor;
  /** Encrypts the targets and codes of channels. */
  readonly vault: Vault;
  readonly limits: Limits;
  /** Room for what is stored. */
  readonly capacity: AlertCapacity;
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
 * Methods that change something count against the limit `changes`. Methods that send a code also
 * count against `code-mails` and `mailbox-codes`, and a wrong code counts against `guesses`. Any of
 * them may throw `rate_limited`.
 */
export class ChannelService {
  readonly #options: ChannelServiceOptions;
  readonly #guard: GuessGuard;

  constructor(options: ChannelServiceOptions) {
    this.#options = options;
    this.#guard = new GuessGuard(options.limits);
  }

  /** The channels of an account, sorted by name. */
  async list(accountId: string): Promise<readonly ChannelView[]> {
    const { records } = this.#options;
    const [own, all] = await Promise.all([
      readAll(records, channels, accountAlertsGroup(accountId)),
      readAll(records, alerts, accountAlertsGroup(accountId)),
    ]);
    const views = await Promise.all(
      own.map((channel) => channelViewOf(channel, all, this.#options)),
    );
    return views.toSorted(byName);
  }

  /**
   * The active and paused channels of an account, which are the channels that alerts can use;
   * sorted by name.
   */
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
    await this.#countChange(accountId);
    const target = { kind: "email", to: email } as const;
    const at = this.#options.now().getTime();
    const channel = this.#newChannel({ accountId, name: OWN_MAILBOX_CHANNEL_NAME }, target, () =>
      active(at),
    );
    const room = await this.#roomFor(accountId);
    await transact(this.#options.records, async (tx) => {
      if (await hasNone(tx, accountId)) await this.#insert(tx, channel, room);
    });
  }

  /** Whether an account has no channels, regardless of their state. */
  hasNone(accountId: string): Promise<boolean> {
    return hasNone(this.#options.records, accountId);
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
  ): Promise<string | TargetFault> {
    const target = parseChannelTarget(typed, this.#options.urlPolicy);
    if ("fault" in target) return target;
    await this.#countCode(accountId, target);
    const channel = this.#newChannel({ accountId, name }, target, (key) => this.#pending(key));
    const room = await this.#roomFor(accountId);
    await transact(this.#options.records, async (tx) => {
      await this.#insert(tx, channel, room);
      sendVerificationCode(tx, channel);
    });
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
    const groups = target.kind === "email" ? [emailGroup(target.to)] : [];
    return { key, value, groups };
  }

  #roomFor(accountId: string): Promise<Room> {
    return this.#options.capacity.roomFor({ kind: "user", id: accountId, accountId });
  }

  /**
   * Inserts a channel.
   *
   * @throws {Problem} `alert_limit`; `invalid_request` when the name is taken.
   */
  async #insert(tx: Transaction, channel: NewChannel, room: Room): Promise<void> {
    const { accountId, name } = channel.value;
    await requireChannelQuota(tx, accountId, name);
    const groups = [...channel.groups, networkRecordsGroup(networkWithRoom(room))];
    tx.insert(channels, { ...channel, groups });
    this.#options.audit(tx, { action: "channel.added", actor: accountId, target: channel.key });
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
    const state = this.#pending(key);
    await this.#change(accountId, channelId, "channel.code_sent", (tx, channel) => {
      const { is } = channel.value.state;
      if (is !== "pending" && is !== "disabled") throw channelAlreadyVerifiedProblem();
      const changed = { ...channel.value, state };
      sendVerificationCode(tx, { key: channelId, value: changed });
      return changed;
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
    const guesser = partyAt(callerAddress(), accountId);
    await this.#guard.check(guesser);
    await this.#countChange(accountId);
    const at = now().getTime();
    let isRight = false;
    await this.#change(accountId, channelId, "channel.code_entered", (tx, channel) => {
      const { state } = channel.value;
      if (state.is !== "pending") throw channelAlreadyVerifiedProblem();
      if (state.code === null || at >= state.codeUntil) throw channelCodeUnusableProblem();
      isRight = isCorrectCode(typed, { code: state.code, channelId, vault });
      if (isRight) releaseHeldDeliveries(tx, channel);
      return { ...channel.value, state: isRight ? active(at) : withWrongTry(state) };
    });
    if (!isRight) await this.#guard.record(guesser);
    return isRight;
  }

  /** Changes the schedule of a channel. Deliveries that are waiting follow the new schedule. */
  async setSchedule(
    accountId: string,
    channelId: string,
    schedule: ChannelSchedule,
  ): Promise<void> {
    await this.#countChange(accountId);
    await this.#change(accountId, channelId, "channel.scheduled", (tx, channel) => {
      releaseHeldDeliveries(tx, channel);
      return { ...channel.value, schedule };
    });
  }

  /**
   * Pauses a channel, so that its deliveries wait, or resumes it.
   *
   * @throws {Problem} `wrong_state` when the channel must be verified first.
   */
  async setPaused(accountId: string, channelId: string, isPaused: boolean): Promise<void> {
    await this.#countChange(accountId);
    const since = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.paused", (tx, channel) => {
      const { is } = channel.value.state;
      if (is !== "active" && is !== "paused") throw channelNotVerifiedProblem();
      if (!isPaused) releaseHeldDeliveries(tx, channel);
      return { ...channel.value, state: isPaused ? { is: "paused", since } : active(since) };
    });
  }

  /**
   * Allows or forbids the person's applications and agents to send alerts to a channel. When
   * sharing is turned off, their alerts on this channel change to polling: events are still
   * recorded, but not sent.
   */
  async setShared(accountId: string, channelId: string, isShared: boolean): Promise<void> {
    await this.#countChange(accountId);
    const action = isShared ? "channel.shared" : "channel.unshared";
    await this.#change(accountId, channelId, action, async (tx, { value: before }) => {
      const value = { ...before, isShared };
      const all = await readKept(tx, alerts, accountAlertsGroup(accountId));
      const ended = all.filter(
        (alert) => isSentToChannel(alert, channelId) && !mayUseChannel(alert.value.owner, value),
      );
      for (const alert of ended) changeToPolling(tx, alert);
      return value;
    });
  }

  /**
   * Sends a test message immediately, regardless of the channel's schedule.
   *
   * @throws {Problem} `wrong_state` unless the channel is active.
   */
  async test(accountId: string, channelId: string): Promise<void> {
    await this.#countChange(accountId);
    const body = JSON.stringify(testMessage(this.#options));
    const at = this.#options.now().getTime();
    await this.#change(accountId, channelId, "channel.tested", (tx, channel) => {
      if (channel.value.state.is !== "active") throw channelNotVerifiedProblem();
      const content = { type: NOTICE_MESSAGE_TYPE, body, isRepeat: true, at } as const;
      queueChannelMessage(tx, channel, { ...content, ttlMs: EVENT_RETENTION_MS });
      tx.announce(DELIVERIES_TOPIC);
      return undefined;
    });
  }

  /**
   * Removes a channel with its queued deliveries. Alerts on this channel change to polling: their
   * events are still recorded, but not sent.
   */
  async remove(accountId: string, channelId: string): Promise<void> {
    const { records, audit } = this.#options;
    await this.#countChange(accountId);
    await transact(records, async (tx) => {
      await requireChannel(tx, accountId, channelId);
      const all = await readKept(tx, alerts, accountAlertsGroup(accountId));
      tx.remove(channels, channelId);
      for (const alert of all) if (isSentToChannel(alert, channelId)) changeToPolling(tx, alert);
      tx.removeGroup(queuedDeliveriesGroup(channelId));
      tx.removeGroup(channelGroup(channelId));
      audit(tx, { action: "channel.deleted", actor: accountId, target: channelId });
    });
  }

  /** The state of a channel that must be verified, with a new code. */
  #pending(channelId: string): ChannelState {
    const { vault, now } = this.#options;
    return pendingState({ channelId, since: now().getTime(), vault });
  }

  /** @param change Returns the changed channel; `undefined` if the channel stays unchanged. */
  #change(
    accountId: string,
    channelId: string,
    action: string,
    change: (
      tx: Transaction,
      channel: StoredChannel,
    ) => Channel | undefined | Promise<Channel | undefined>,
  ): Promise<void> {
    const { records, audit } = this.#options;
    return transact(records, async (tx) => {
      const channel = await requireChannel(tx, accountId, channelId);
      const value = await change(tx, channel);
      if (value !== undefined) tx.update(channels, channel, { value });
      audit(tx, { action, actor: accountId, target: channelId });
    });
  }

  /**
   * Counts a code: as a change, as a code of the person, and for its target, which may belong to
   * someone else. Where the person chose the host, it counts for the host too.
   *
   * @throws {Problem} `rate_limited`.
   */
  async #countCode(accountId: string, target: ChannelTarget): Promise<void> {
    const { limits } = this.#options;
    const party = partyAt(callerAddress(), accountId);
    const mailbox = target.kind === "email" ? mailboxOf(target.to) : channelTargetKey(target);
    const url = chosenUrl(target);
    await requireAdmissions(limits, [
      ["changes", party],
      ["code-mails", party],
      ["mailbox-codes", { ...party, target: mailbox }],
      ...(url === undefined
        ? []
        : [["host-requests", { ...party, target: countedHost(url) }] as const]),
    ]);
  }

  #countChange(accountId: string): Promise<void> {
    return requireAdmission(this.#options.limits, "changes", partyAt(callerAddress(), accountId));
  }
}

const nameKey = (name: string): string => name.toLowerCase();

const byName = (one: Pick<Channel, "name">, other: Pick<Channel, "name">): number =>
  nameKey(one.name) < nameKey(other.name) ? -1 : 1;

const active = (since: number): ChannelState => ({ is: "active", since });

async function hasNone(records: RecordReader, accountId: string): Promise<boolean> {
  const group = accountAlertsGroup(accountId);
  return (await records.list(channels, { group, limit: 1 })).length === 0;
}

/**
 * Requires that an account exists, has fewer than the maximum number of channels and has no other
 * channel with this name.
 */
async function requireChannelQuota(
  tx: Transaction,
  accountId: string,
  name: string,
): Promise<void> {
  const [own, account] = await Promise.all([
    readAll(tx, channels, accountAlertsGroup(accountId)),
    tx.get(accounts, accountId),
  ]);
  if (account === undefined) throw channelNotFoundProblem();
  if (own.length >= MAX_CHANNELS_PER_ACCOUNT) throw channelLimitProblem();
  if (own.some(({ value }) => nameKey(value.name) === nameKey(name)))
    throw channelNameTakenProblem();
}

function changeToPolling(tx: Transaction, alert: Kept<Alert>): void {
  updateKept(tx, alerts, alert, { ...alert.value, way: { by: "poll" } });
  tx.announce(ALERTS_TOPIC, alert.key);
}
