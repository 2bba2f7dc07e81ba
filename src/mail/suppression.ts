import { createHmac, timingSafeEqual } from "node:crypto";
import { fingerprint } from "../lib/fingerprint.ts";
import { collection, type Records } from "../store/port/records.ts";
import { transact } from "../store/transact.ts";
import { mailboxOf } from "./email-address.ts";

/**
 * Mailboxes that get no more mail, by the hash of the mailbox (`mailboxOf`), since an instant in
 * milliseconds since the epoch.
 */
const suppressions = collection<{ readonly since: number }>("mail-suppressions");

/**
 * Allows mail to the mailbox of an address again, for an operator whom its owner asked.
 *
 * @param email Normalized.
 * @returns Whether the mailbox got no mail.
 */
export function allowMail(records: Records, email: string): Promise<boolean> {
  const id = fingerprint(mailboxOf(email));
  return transact(records, async (tx) => {
    const isStopped = (await tx.get(suppressions, id)) !== undefined;
    if (isStopped) tx.remove(suppressions, id);
    return isStopped;
  });
}

/** The way out of all mail: the hash of the mailbox and a MAC over it, separated by a dot. */
const TOKEN = /^mail_([\w-]{43})\.([\w-]{43})$/;

/** Dependencies of `MailSuppression`. */
interface MailSuppressionOptions {
  readonly records: Records;
  /** 32-byte key for the MACs of tokens. */
  readonly key: Uint8Array;
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly now: () => Date;
}

/**
 * The mailboxes whose people want no more mail, except codes that they ask for themselves. Every
 * email that has no unsubscribe link of its own has a link here, the same in each. The link is
 * sufficient authorization, because it was sent to the mailbox, and it also allows mail again.
 * Whoever holds a forwarded email can stop mail too, so stopping it must not keep the owner from
 * signing in.
 */
export class MailSuppression {
  readonly #options: MailSuppressionOptions;

  constructor(options: MailSuppressionOptions) {
    this.#options = options;
  }

  /** The link by which a mailbox stops all mail. @param email Normalized. */
  linkOf(email: string): string {
    const id = fingerprint(mailboxOf(email));
    return `${this.#options.baseUrl}/unsubscribe/mail_${id}.${this.#mac(id)}`;
  }

  /** Whether the mailbox of an address gets no mail. @param email Normalized. */
  async isSuppressed(email: string): Promise<boolean> {
    return this.#has(fingerprint(mailboxOf(email)));
  }

  /** Whether the mailbox of a link gets no mail; `undefined` for an invalid link. */
  async stateOf(token: string): Promise<boolean | undefined> {
    const id = this.#idOf(token);
    return id === undefined ? undefined : this.#has(id);
  }

  /** Whether a link was sent to the mailbox of an address. @param email Normalized. */
  isLinkOf(token: string, email: string): boolean {
    return this.#idOf(token) === fingerprint(mailboxOf(email));
  }

  /** Stops all mail to the mailbox of a link. @returns Whether the link is valid. */
  async stop(token: string): Promise<boolean> {
    const id = this.#idOf(token);
    if (id === undefined) return false;
    const { records, now } = this.#options;
    const value = { since: now().getTime() };
    await transact(records, (tx) => tx.put(suppressions, { key: id, value }));
    return true;
  }

  /** Allows mail to the mailbox of a link again. @returns Whether the link is valid. */
  async allow(token: string): Promise<boolean> {
    const id = this.#idOf(token);
    if (id === undefined) return false;
    await transact(this.#options.records, (tx) => tx.remove(suppressions, id));
    return true;
  }

  async #has(id: string): Promise<boolean> {
    return (await this.#options.records.get(suppressions, id)) !== undefined;
  }

  #idOf(token: string): string | undefined {
    const [, id, mac] = TOKEN.exec(token) ?? [];
    if (id === undefined || mac === undefined) return undefined;
    return timingSafeEqual(Buffer.from(mac), Buffer.from(this.#mac(id))) ? id : undefined;
  }

  #mac(id: string): string {
    return createHmac("sha256", this.#options.key).update(id).digest("base64url");
  }
}
