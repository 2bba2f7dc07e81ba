import { randomUUID } from "node:crypto";
import type { Vault } from "../store/keys/vault.ts";
import { announce, insert } from "../store/port/operations.ts";
import { collection, type Operation, type Stored } from "../store/port/records.ts";
import { Email } from "./email.ts";
import { emailGroup } from "./email-address.ts";

/** An email with the time in which it is of use. */
export interface Mail extends Readonly<Email> {
  /** Lifetime in milliseconds; an email that has expired is not sent. 0 costs the same work and
   *  reaches nobody, so that timing does not tell whether an address is known. */
  readonly usefulMs: number;
  /** Earliest time to send it, in milliseconds from now; the worker then finds it on its next poll.
   *  Absent: it is sent at once. */
  readonly dueInMs?: number;
  /** Hash of the network whose request caused the email. Networks share the worker, so that a flood from
   *  one delays no others. Absent: it is sent in the order of the queue. */
  readonly network?: string;
}

/** Queues emails. */
export interface Mailbox {
  /** The operations that queue an email, to be committed with the change it reports. */
  queued(mail: Mail): readonly Operation[];
}

/** An email that waits to be sent. */
export interface QueuedMail {
  /** The email as JSON, sealed for the key of the record. */
  readonly sealed: string;
  /** Milliseconds since the epoch. */
  readonly queuedAt: number;
  /** Number of failed attempts. */
  readonly failures: number;
}

/** Emails that wait, until they are sent or have expired. */
export const mails = collection<QueuedMail>("mail");

/** Topic that is announced when an email is due at once. */
export const MAIL_TOPIC = "mail";

/** What the outbox is made from. */
export interface OutboxOptions {
  /** Seals emails at rest, because they contain codes and addresses. */
  readonly vault: Vault;
  readonly now: () => Date;
}

/** Prefix of the group of the emails that one network caused. */
const NETWORK = "mail-network:";

/** The group of the network among the groups of an email. */
export const networkGroupIn = (groups: readonly string[]): string | undefined =>
  groups.find((group) => group.startsWith(NETWORK));

const contextOf = (id: string): string => `mail:${id}`;

/** Creates the outbox. `queued` throws a `ZodError` for an invalid email, which is a bug of the
 *  caller. */
export function createOutbox({ vault, now }: OutboxOptions): Mailbox {
  return {
    queued({ usefulMs, dueInMs, network, ...rest }) {
      const email = Email.parse(rest);
      const key = randomUUID();
      const inserted = insert(mails, {
        key,
        value: {
          sealed: vault.seal(JSON.stringify(email), contextOf(key)),
          queuedAt: now().getTime(),
          failures: 0,
        },
        groups: [emailGroup(email.to), ...(network === undefined ? [] : [NETWORK + network])],
        ttlMs: usefulMs,
        dueInMs: dueInMs ?? 0,
      });
      return dueInMs === undefined ? [inserted, announce(MAIL_TOPIC)] : [inserted];
    },
  };
}

/** Opens a queued email. @throws {Error} When the key that sealed it no longer exists. */
export function openedEmail(vault: Vault, { key, value }: Stored<QueuedMail>): Email {
  return Email.parse(JSON.parse(vault.open(value.sealed, contextOf(key))));
}
