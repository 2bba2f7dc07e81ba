import { setTimeout as delay } from "node:timers/promises";
import type { MailChoice } from "../config/config.ts";
import { type Loop, schedule, startLoop } from "../lib/loop.ts";
import type { Vault } from "../store/keys/vault.ts";
import { removeAt, replace } from "../store/port/operations.ts";
import type { Operation, Records, Stored } from "../store/port/records.ts";
import type { Email } from "./email.ts";
import { MAIL_TOPIC, mails, openedEmail, type QueuedMail } from "./outbox.ts";
import { createSmtp, isRefusedForGood, type Smtp } from "./smtp.ts";

/** Announcements may be lost: so often is looked anyway, in milliseconds. */
const LOOK_EVERY_MS = 2_000;

/** Messages that are being sent at once. */
const MAX_UNDERWAY = 20;

/** An attempt to send a message ends after this many milliseconds, whatever the server does. */
const ATTEMPT_MS = 30_000;

/** Another process takes a message after this many milliseconds: longer than an attempt lasts. */
const LEASE_MS = 2 * ATTEMPT_MS;

/** Pause after the first failure, in milliseconds; it doubles each time, up to the longest. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 60_000;

/** Messages under way may take this many milliseconds to end when the process stops. */
const STOP_MS = 2_000;

/** Most characters of what a mail server says that go into the log. */
const MAX_REASON_LENGTH = 300;

/** What the worker works with. */
export interface MailWorkerOptions {
  readonly records: Records;
  /** The one that sealed the messages. */
  readonly vault: Vault;
  /** Absent: nothing is sent, and messages wait for the operator until they are of no use. */
  readonly smtp?: MailChoice | undefined;
  /** Shows a message to the operator, once; only without `smtp`. */
  readonly onTerminal?: ((email: Email) => void) | undefined;
  readonly now: () => Date;
  /** Told about every attempt that failed, and when the store cannot answer. */
  readonly onError: (error: unknown) => void;
}

/** Whoever sends what is in the outbox. */
export interface MailWorker {
  start(): void;
  /** Nothing is sent after this. */
  stop(): Promise<void>;
}

/** How messages leave, and what becomes of one that has left. */
interface Way {
  deliver(mail: Stored<QueuedMail>, signal: AbortSignal): Promise<void>;
  delivered(mail: Stored<QueuedMail>): Operation;
  close(): void;
}

/**
 * Sends what is in the outbox, in every process that has one; each message by one process at a time.
 * A message that cannot be sent is tried again, with longer and longer pauses, until it is of no
 * use or the server refuses its address for good. It may come twice: when the process ends, or the
 * store is gone, between the server's yes and the note of it.
 */
export function createMailWorker(options: MailWorkerOptions): MailWorker {
  const way = wayOf(options);
  if (way === undefined) return { start: () => {}, stop: async () => {} };
  const { records, onError } = options;
  const stopping = new AbortController();
  const underway = new Set<Promise<void>>();
  let loop: Loop | undefined;
  let stopListening = () => {};

  const begin = (mail: Stored<QueuedMail>): void => {
    const done = carry(mail, { ...options, way, signal: stopping.signal })
      .catch(onError)
      .finally(() => {
        underway.delete(done);
        loop?.wake();
      });
    underway.add(done);
  };
  const tick = async (): Promise<number> => {
    const limit = MAX_UNDERWAY - underway.size;
    if (limit === 0) return 0;
    const due = await records.claimDue(mails, { limit, leaseMs: LEASE_MS });
    due.forEach(begin);
    return due.length;
  };
  return {
    start() {
      loop = startLoop({ tick, everyMs: LOOK_EVERY_MS, onError, schedule });
      stopListening = records.onAnnounce(MAIL_TOPIC, loop.wake);
    },
    async stop() {
      stopListening();
      await loop?.stop();
      await Promise.race([Promise.all(underway), delay(STOP_MS, undefined, { ref: false })]);
      stopping.abort();
      await Promise.all(underway);
      way.close();
    },
  };
}

function wayOf({ vault, smtp, onTerminal, now }: MailWorkerOptions): Way | undefined {
  if (smtp !== undefined) return bySmtp(createSmtp(smtp), { vault, now });
  if (onTerminal === undefined) return undefined;
  return {
    deliver: async (mail) => onTerminal(openedEmail(vault, mail)),
    // It stays for `admin -- mail`, but is shown no more.
    delivered: (mail) => replace(mails, mail, { value: mail.value, dueInMs: null }),
    close: () => {},
  };
}

function bySmtp(smtp: Smtp, { vault, now }: Pick<MailWorkerOptions, "vault" | "now">): Way {
  return {
    async deliver(mail, stopped) {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(ATTEMPT_MS)]);
      const email = openedEmail(vault, mail);
      try {
        await smtp.send({ email, id: mail.key, date: now(), signal });
      } catch (error) {
        throw withoutAddress(error, email.to);
      }
    },
    delivered: (mail) => removeAt(mails, mail),
    close: smtp.close,
  };
}

interface Round extends MailWorkerOptions {
  readonly way: Way;
  readonly signal: AbortSignal;
}

/** One attempt. Where the step at its end does not hold, the message has ended or another has it. */
async function carry(
  mail: Stored<QueuedMail>,
  { way, signal, records, onError }: Round,
): Promise<void> {
  try {
    await way.deliver(mail, signal);
  } catch (error) {
    onError(error);
    await records.commit([isRefusedForGood(error) ? removeAt(mails, mail) : later(mail)]);
    return;
  }
  await records.commit([way.delivered(mail)]);
}

function later(mail: Stored<QueuedMail>): Operation {
  const { failures } = mail.value;
  const dueInMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return replace(mails, mail, { value: { ...mail.value, failures: failures + 1 }, dueInMs });
}

/** What went wrong, for the log: servers repeat the address in what they say. */
function withoutAddress(error: unknown, address: string): Error {
  const { message, command, responseCode } = error as Error & Readonly<Record<string, unknown>>;
  const reason = message.replaceAll(address, "<address>").replace(/\p{Cc}+/gu, " ");
  const told = new Error(`mail could not be sent: ${reason.slice(0, MAX_REASON_LENGTH)}`);
  return Object.assign(told, { command, responseCode });
}
