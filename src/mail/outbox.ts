import { randomUUID } from "node:crypto";
import type { Vault } from "../store/keys/vault.ts";
import { announce, insert } from "../store/port/operations.ts";
import { collection, type Stored } from "../store/port/records.ts";
import { Email } from "./email.ts";
import { ofEmail } from "./email-address.ts";
import type { Mailbox } from "./mail.ts";

/** A message that waits. */
export interface QueuedMail {
  /** The email as JSON, sealed for the key of the record. */
  readonly sealed: string;
  /** Milliseconds since the epoch. */
  readonly queuedAt: number;
  /** How often it could not be sent. */
  readonly failures: number;
}

/** Messages that wait, until they are sent or of no use any more. */
export const mails = collection<QueuedMail>("mail");

/** Topic that is announced when there is a message to send at once. */
export const MAIL_TOPIC = "mail";

/** What messages are kept with. */
export interface OutboxOptions {
  /** Codes stand in messages, so that they are sealed at rest, with the address. */
  readonly vault: Vault;
  readonly now: () => Date;
}

const contextOf = (id: string): string => `mail:${id}`;

/** Creates the outbox. `queued` throws a `ZodError` for what is no email, which is a bug of the
 *  caller. */
export function createOutbox({ vault, now }: OutboxOptions): Mailbox {
  return {
    queued({ usefulMs, dueInMs, ...rest }) {
      const email = Email.parse(rest);
      const key = randomUUID();
      const sealed = vault.seal(JSON.stringify(email), contextOf(key));
      const value = { sealed, queuedAt: now().getTime(), failures: 0 };
      const placing = { groups: [ofEmail(email.to)], ttlMs: usefulMs, dueInMs: dueInMs ?? 0 };
      const placed = insert(mails, { key, value, ...placing });
      return dueInMs === undefined ? [placed, announce(MAIL_TOPIC)] : [placed];
    },
  };
}

/** @throws {Error} When it was sealed under a key that is gone. */
export function openedEmail(vault: Vault, { key, value }: Stored<QueuedMail>): Email {
  return Email.parse(JSON.parse(vault.open(value.sealed, contextOf(key))));
}
