import { randomUUID } from "node:crypto";
import type { Vault } from "../store/keys/vault.ts";
import { announce, insert } from "../store/port/operations.ts";
import { collection, type Operation, type Stored } from "../store/port/records.ts";
import { emailGroup } from "./email-address.ts";
import { Email } from "./email-schema.ts";

/** An email with its delivery options. */
export interface OutgoingMail extends Readonly<Email> {
  /** Lifetime in milliseconds; an expired email is not sent. With 0, the same work is done but
   *  nothing is sent, so that timing does not reveal whether an address is known. */
  readonly ttlMs: number;
  /** Earliest time of sending, in milliseconds from now; the worker finds it at its next poll.
   *  Absent: it is sent at once. */
  readonly dueInMs?: number;
  /** The origin of the email: the hash of the network of a request, or the account of a channel.
   *  Each origin gets a fair share of the worker, so that a flood from one does not delay others.
   *  Absent if the email counts towards no share. */
  readonly cause?: string;
  /** Further record groups; when one of them is removed, the email is deleted if it is still
   *  waiting. */
  readonly groups?: readonly string[];
}

/** Queues emails. */
export interface Mailbox {
  /** The steps that queue an email, to be committed with the change that it reports. */
  queueSteps(mail: OutgoingMail): readonly Operation[];
}

/** An email in the outbox. */
export interface QueuedMail {
  /** The email as JSON, sealed for the key of the record. */
  readonly sealed: string;
  /** Milliseconds since the epoch. */
  readonly queuedAt: number;
  /** Number of failed attempts. */
  readonly failures: number;
}

/** Emails until they are sent or expire. */
export const mails = collection<QueuedMail>("mail");

/** Topic that is announced when an email is due at once. */
export const MAIL_TOPIC = "mail";

/** Options of `createOutbox`. */
export interface OutboxOptions {
  /** Seals emails at rest, because they contain codes and addresses. */
  readonly vault: Vault;
  readonly now: () => Date;
}

/** Prefix of the group of the emails that have one cause. */
const CAUSE_GROUP_PREFIX = "mail-cause:";

/** The group, among those of an email, that names its cause; `undefined` if there is none. */
export const causeGroupAmong = (groups: readonly string[]): string | undefined =>
  groups.find((group) => group.startsWith(CAUSE_GROUP_PREFIX));

const sealContext = (id: string): string => `mail:${id}`;

/** Creates the outbox. @throws {ZodError} `queueSteps`: for an invalid email, which is a bug of the
 *  caller. */
export function createOutbox({ vault, now }: OutboxOptions): Mailbox {
  return {
    queueSteps({ ttlMs, dueInMs, cause, groups = [], ...rest }) {
      const email = Email.parse(rest);
      const key = randomUUID();
      const inserted = insert(mails, {
        key,
        value: {
          sealed: vault.seal(JSON.stringify(email), sealContext(key)),
          queuedAt: now().getTime(),
          failures: 0,
        },
        groups: [
          emailGroup(email.to),
          ...groups,
          ...(cause === undefined ? [] : [CAUSE_GROUP_PREFIX + cause]),
        ],
        ttlMs,
        dueInMs: dueInMs ?? 0,
      });
      return dueInMs === undefined ? [inserted, announce(MAIL_TOPIC)] : [inserted];
    },
  };
}

/** Opens a queued email. @throws {Error} When the key that sealed it no longer exists. */
export function openEmail(vault: Vault, { key, value }: Stored<QueuedMail>): Email {
  return Email.parse(JSON.parse(vault.open(value.sealed, sealContext(key))));
}
