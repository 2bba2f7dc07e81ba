import { createHmac } from "node:crypto";
import { isEqualConstantTime } from "../../auth/secrets.ts";

/** The link that unsubscribes an email channel. */
export const unsubscribeUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/unsubscribe/${token}`;

/** A channel's id and the MAC of it. */
const TOKEN = /^(chan_[0-9A-Za-z]{16})\.([\w-]{43})$/;

/** Creates and reads the tokens in the links that unsubscribe email channels (RFC 8058). A token is
 *  valid as long as its channel exists, because people keep emails for years. */
export class UnsubscribeTokens {
  readonly #key: Uint8Array;

  /** @param key 32 bytes. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  tokenOf(channelId: string): string {
    return `${channelId}.${this.#mac(channelId)}`;
  }

  /** The channel of a token; `undefined` for any other text. */
  channelOf(token: string): string | undefined {
    const [, channelId, mac] = TOKEN.exec(token) ?? [];
    if (channelId === undefined || mac === undefined) return undefined;
    return isEqualConstantTime(mac, this.#mac(channelId)) ? channelId : undefined;
  }

  #mac(channelId: string): string {
    return createHmac("sha256", this.#key).update(channelId).digest("base64url");
  }
}
