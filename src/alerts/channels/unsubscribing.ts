import { createHmac } from "node:crypto";
import type { Auditor } from "../../access/auditor.ts";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { Vault } from "../../keys/vault.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { Records } from "../../store/port/records.ts";
import { findKept, readKept } from "../../store/set-aside.ts";
import { transact } from "../../store/transact.ts";
import { type Channel, channelGroup, channels, decryptChannelTarget } from "./channel.ts";
import { disableChannel } from "./channel-endpoint.ts";

/** The link that unsubscribes an email channel. */
export const unsubscribeUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/unsubscribe/${token}`;

/** An unsubscribe token: the channel's id and a MAC over it, separated by a dot. */
const TOKEN = /^(chan_[0-9A-Za-z]{16})\.([\w-]{43})$/;

/**
 * Creates and reads the tokens in the unsubscribe links of email channels (RFC 8058). A token is
 * valid as long as its channel exists, because people keep emails for years.
 */
export class UnsubscribeTokens {
  readonly #key: Uint8Array;

  /** @param key 32-byte key for the MACs of tokens. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  tokenOf(channelId: string): string {
    return `${channelId}.${this.#mac(channelId)}`;
  }

  /** The id of the channel that a token belongs to; `undefined` for an invalid token. */
  channelOf(token: string): string | undefined {
    const [, channelId, mac] = TOKEN.exec(token) ?? [];
    if (channelId === undefined || mac === undefined) return undefined;
    return isEqualConstantTime(mac, this.#mac(channelId)) ? channelId : undefined;
  }

  #mac(channelId: string): string {
    return createHmac("sha256", this.#key).update(channelId).digest("base64url");
  }
}

/** Dependencies of `UnsubscribeService`. */
interface UnsubscribeServiceOptions {
  readonly records: Records;
  readonly audit: Auditor;
  readonly vault: Vault;
  readonly tokens: UnsubscribeTokens;
  readonly now: () => Date;
}

/**
 * Stops the emails to an address when an unsubscribe link is used. The link alone is sufficient
 * authorization, because it was sent to that address.
 */
export class UnsubscribeService {
  readonly #options: UnsubscribeServiceOptions;

  constructor(options: UnsubscribeServiceOptions) {
    this.#options = options;
  }

  /** The channel that an unsubscribe token belongs to; `undefined` for an invalid token. */
  async channelOf(token: string): Promise<Pick<Channel, "hint" | "state"> | undefined> {
    const { records, tokens } = this.#options;
    const channelId = tokens.channelOf(token);
    return channelId === undefined
      ? undefined
      : (await findKept(records, channels, channelId))?.value;
  }

  /**
   * Disables every channel that sends to the same address as the channel in the token, also
   * channels of accounts that the operator has disabled.
   *
   * @returns Whether the token is valid, even if the channel was already unsubscribed.
   */
  async unsubscribe(token: string): Promise<boolean> {
    const { records, tokens, vault } = this.#options;
    const channelId = tokens.channelOf(token);
    if (channelId === undefined) return false;
    const channel = await findKept(records, channels, channelId);
    if (channel === undefined) return true;
    const target = decryptChannelTarget(vault, channel);
    const group = target.kind === "email" ? emailGroup(target.to) : channelGroup(channelId);
    const all = await readKept(records, channels, group);
    await Promise.all(all.map(({ key }) => this.#disable(key)));
    return true;
  }

  #disable(channelId: string): Promise<void> {
    const { records, audit, now } = this.#options;
    const since = now().getTime();
    return transact(records, async (tx) => {
      const channel = await findKept(tx, channels, channelId);
      if (channel === undefined || channel.value.state.is === "disabled") return;
      disableChannel(tx, channel, { is: "disabled", since, reason: "unsubscribed" });
      audit(tx, { action: "channel.unsubscribed", actor: "anonymous", target: channelId });
    });
  }
}
