import { randomUUID } from "node:crypto";
import type { Vault } from "../keys/vault.ts";
import { collection, type Stored } from "../store/port/records.ts";
import type { Transaction } from "../store/transact.ts";
import { emailGroup } from "./email-address.ts";
import { Email } from "./email-schema.ts";

/** An email with its delivery options. */
export interface OutgoingMail extends Readonly<Email> {
  /**
   * Lifetime in milliseconds. An email that has expired is not sent. With a lifetime of 0, the
   * email is stored but never sent, so that timing does not reveal whether an address is known.
   */
  readonly ttlMs: number;
  /**
   * Minimum delay before the email is sent, in milliseconds. The worker finds the email at its
   * first poll after this delay. Absent: the email is sent immediately.
   */
  readonly dueInMs?: number;
  /**
   * The cause of the email: the hash of the network from which it was requested, or the account of
   * a channel. Each cause gets a fair share of the worker, so that a flood of emails from one cause
   * does not delay others. Absent if the email does not count toward any share.
   */
  readonly cause?: string;
  /**
   * Whether the email was asked for at a browser of the mailbox's owner; then it is sent although
   * the mailbox gets no mail.
   */
  readonly isForOwner?: boolean;
  /**
   * Additional record groups. When one of them is removed, an email that is still waiting is
   * deleted.
   */
  readonly groups?: readonly string[];
}

/** Queues emails. */
export interface Outbox {
  /** Queues an email in the transaction of the change that the email reports. */
  queue(tx: Transaction, mail: OutgoingMail): void;
}

/** An email in the outbox. */
export interface QueuedMail {
  /** The email as JSON, encrypted with the record key as context. */
  readonly sealed: string;
  /** Milliseconds since the epoch. */
  readonly queuedAt: number;
  /** Number of failed attempts. */
  readonly failures: number;
  /** Present for an email that is sent although the mailbox gets no mail. */
  readonly isForOwner?: true;
}

/** Emails until they are sent or expire. */
export const queuedMails = collection<QueuedMail>("mail", { dueInMs: 0 });

/** Topic that announces an email that is due immediately. */
export const MAIL_TOPIC = "mail";

/** Options of `createOutbox`. */
interface OutboxOptions {
  /** Encrypts emails at rest, because they contain codes and addresses. */
  readonly vault: Vault;
  /**
   * The link by which the recipient of an email stops all mail; absent if the origin is unknown.
   */
  readonly wayOutOf?: (email: string) => string;
  readonly now: () => Date;
}

/** Prefix of the groups of emails with the same cause. */
const CAUSE_GROUP_PREFIX = "mail-cause:";

/** Finds the cause group among the groups of an email; `undefined` if there is none. */
export const findCauseGroup = (groups: readonly string[]): string | undefined =>
  groups.find((group) => group.startsWith(CAUSE_GROUP_PREFIX));

const sealContext = (id: string): string => `mail:${id}`;

/**
 * Creates the outbox.
 *
 * @throws {ZodError} From `queue` for an invalid email, which is a bug in the caller.
 */
export function createOutbox({ vault, wayOutOf, now }: OutboxOptions): Outbox {
  return {
    queue(tx, { ttlMs, dueInMs, cause, isForOwner = false, groups = [], ...rest }) {
      const email = Email.parse(withWayOut(rest, wayOutOf));
      const key = randomUUID();
      tx.insert(queuedMails, {
        key,
        value: {
          sealed: vault.seal(JSON.stringify(email), sealContext(key)),
          queuedAt: now().getTime(),
          failures: 0,
          ...(isForOwner && { isForOwner }),
        },
        groups: [
          emailGroup(email.to),
          ...groups,
          ...(cause === undefined ? [] : [CAUSE_GROUP_PREFIX + cause]),
        ],
        ttlMs,
        ...(dueInMs !== undefined && { dueInMs }),
      });
      if (dueInMs === undefined) tx.announce(MAIL_TOPIC);
    },
  };
}

/** Adds the way out of all mail to an email that has no unsubscribe link of its own. */
function withWayOut(email: Email, wayOutOf: OutboxOptions["wayOutOf"]): Email {
  if (email.unsubscribeUrl !== undefined || wayOutOf === undefined) return email;
  const unsubscribeUrl = wayOutOf(email.to);
  const text = `${email.text.trimEnd()}\n\n-- \nDo not send me mail again: ${unsubscribeUrl}\n`;
  return { ...email, text, unsubscribeUrl };
}

/**
 * Decrypts a queued email.
 *
 * @throws {Error} When the key that encrypted the email no longer exists.
 */
export function decryptEmail(vault: Vault, { key, value }: Stored<QueuedMail>): Email {
  return Email.parse(JSON.parse(vault.open(value.sealed, sealContext(key))));
}
