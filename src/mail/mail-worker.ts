import { setTimeout as delay } from "node:timers/promises";
import type { Vault } from "../keys/vault.ts";
import { type Loop, scheduleTimer, startLoop } from "../lib/loop.ts";
import { reserved } from "../limits/admission.ts";
import type { Records, Stored } from "../store/port/records.ts";
import { type Transaction, transactOnce } from "../store/transact.ts";
import type { Email } from "./email-schema.ts";
import {
  decryptEmail,
  findCauseGroup,
  MAIL_TOPIC,
  type QueuedMail,
  queuedMails,
} from "./outbox.ts";
import { createSmtpClient, isPermanentRejection, type MailSettings } from "./smtp.ts";

/**
 * Pause between two polls for due emails, in milliseconds; needed because an announcement can be
 * lost.
 */
const POLL_MS = 2_000;

/** Maximum number of emails that one process sends concurrently. */
const MAX_IN_FLIGHT = 20;

/**
 * Maximum number of concurrent emails with the same cause; less than the number of connections to
 * the mail server. A fifth of all is reserved for causes that have none.
 */
const MAX_IN_FLIGHT_PER_CAUSE = 4;

/** Timeout of an attempt, in milliseconds. */
const ATTEMPT_TIMEOUT_MS = 30_000;

/**
 * Lease of a claimed email, in milliseconds; longer than an attempt, so that no other process
 * claims the email during the attempt.
 */
const LEASE_MS = 2 * ATTEMPT_TIMEOUT_MS;

/** Delay before the first retry, in milliseconds; it doubles with each failure. */
const FIRST_RETRY_MS = 2_000;

/** Maximum delay before a retry, in milliseconds. */
const MAX_RETRY_MS = 60_000;

/** How long attempts in progress may take to finish when the process stops, in milliseconds. */
const STOP_TIMEOUT_MS = 2_000;

/** Maximum length of a mail server's reply in the log, in characters. */
const MAX_REASON_LENGTH = 300;

/** Options of `MailWorker`. */
export interface MailWorkerOptions {
  readonly records: Records;
  /** Decrypts the emails in the outbox. */
  readonly vault: Vault;
  /** Whether an address gets no mail, except what its owner asks for. */
  readonly isSuppressed: (email: string) => Promise<boolean>;
  /**
   * The mail server; absent when none is configured. Emails then wait for the operator until they
   * expire.
   */
  readonly smtp?: MailSettings | undefined;
  /** Shows an email to the operator, once. Used only without `smtp`. */
  readonly onTerminal?: ((email: Email) => void) | undefined;
  readonly now: () => Date;
  /** Called for every failed attempt, and when the store does not answer. */
  readonly onError: (error: unknown) => void;
}

/** A way to deliver emails: the mail server or the operator's terminal. */
interface Transport {
  deliver(mail: Stored<QueuedMail>, signal: AbortSignal): Promise<void>;
  /** Writes that the email was delivered. */
  afterDelivery(tx: Transaction, mail: Stored<QueuedMail>): void;
  close(): void;
}

/**
 * Sends the emails in the outbox. Every process runs a worker; each email is leased to one worker
 * at a time. A failed email is retried with exponential backoff until it expires or the mail server
 * permanently rejects the recipient. An email can arrive twice if the process or the store fails
 * after the server has accepted the email and before the result is committed.
 */
export class MailWorker {
  readonly #records: Records;
  readonly #vault: Vault;
  readonly #isSuppressed: MailWorkerOptions["isSuppressed"];
  readonly #onError: (error: unknown) => void;
  /**
   * How emails are delivered; `undefined` when there is neither a mail server nor a terminal, in
   * which case emails stay in the outbox.
   */
  readonly #transport: Transport | undefined;
  readonly #stopping = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  /** Number of emails that are being sent, by cause group. */
  readonly #inFlightByCause = new Map<string, number>();
  #loop: Loop | undefined;
  #unsubscribe = () => {};

  constructor(options: MailWorkerOptions) {
    this.#records = options.records;
    this.#vault = options.vault;
    this.#isSuppressed = options.isSuppressed;
    this.#onError = options.onError;
    this.#transport = createTransport(options);
  }

  start(): void {
    const transport = this.#transport;
    if (transport === undefined) return;
    this.#loop = startLoop({
      tick: () => this.#claim(transport),
      everyMs: POLL_MS,
      onError: this.#onError,
      schedule: scheduleTimer,
    });
    this.#unsubscribe = this.#records.onAnnounce(MAIL_TOPIC, this.#loop.wake);
  }

  /** Stops sending. Resolves when no attempt is in progress. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop?.stop();
    const attempts = Promise.all(this.#inFlight);
    await Promise.race([attempts, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    this.#stopping.abort();
    await attempts;
    this.#transport?.close();
  }

  /** Claims due emails and starts an attempt for each. @returns The number of claimed emails. */
  async #claim(transport: Transport): Promise<number> {
    const left = MAX_IN_FLIGHT - this.#inFlight.size;
    if (left === 0) return 0;
    const most = left > reserved(MAX_IN_FLIGHT) ? MAX_IN_FLIGHT_PER_CAUSE : 1;
    const causes = [...this.#inFlightByCause].filter(([, count]) => count >= most);
    const due = await this.#records.claimDue(queuedMails, {
      // Limited to what one cause may have, because all claimed emails may have the same cause.
      limit: Math.min(left, most),
      leaseMs: LEASE_MS,
      except: causes.map(([group]) => group),
    });
    for (const mail of due) {
      const cause = findCauseGroup(mail.groups);
      this.#count(cause, 1);
      const attempt = this.#attempt(mail, transport)
        .catch(this.#onError)
        .finally(() => {
          this.#inFlight.delete(attempt);
          this.#count(cause, -1);
          this.#loop?.wake();
        });
      this.#inFlight.add(attempt);
    }
    return due.length;
  }

  async #isUnwanted(mail: Stored<QueuedMail>): Promise<boolean> {
    if (mail.value.isForOwner) return false;
    return this.#isSuppressed(decryptEmail(this.#vault, mail).to);
  }

  #count(cause: string | undefined, change: 1 | -1): void {
    if (cause === undefined) return;
    const count = (this.#inFlightByCause.get(cause) ?? 0) + change;
    if (count === 0) this.#inFlightByCause.delete(cause);
    else this.#inFlightByCause.set(cause, count);
  }

  /** Delivers an email. Nothing is written if the email has expired or another process has claimed
   *  it. */
  async #attempt(mail: Stored<QueuedMail>, transport: Transport): Promise<void> {
    try {
      if (await this.#isUnwanted(mail)) {
        await transactOnce(this.#records, (tx) => drop(tx, mail));
        return;
      }
      await transport.deliver(mail, this.#stopping.signal);
    } catch (error) {
      this.#onError(error);
      await transactOnce(this.#records, (tx) =>
        isPermanentRejection(error) ? drop(tx, mail) : retryLater(tx, mail),
      );
      return;
    }
    await transactOnce(this.#records, (tx) => transport.afterDelivery(tx, mail));
  }
}

function createTransport({
  vault,
  smtp,
  onTerminal,
  now,
}: MailWorkerOptions): Transport | undefined {
  if (smtp !== undefined) return smtpTransport(smtp, vault, now);
  if (onTerminal === undefined) return undefined;
  return {
    deliver: async (mail) => onTerminal(decryptEmail(vault, mail)),
    // The email remains available to `market-signal admin mail`, but is not due again.
    afterDelivery: (tx, mail) => tx.update(queuedMails, mail, { value: mail.value, dueInMs: null }),
    close: () => {},
  };
}

function smtpTransport(choice: MailSettings, vault: Vault, now: () => Date): Transport {
  const smtp = createSmtpClient(choice);
  return {
    async deliver(mail, stopping) {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]);
      const email = decryptEmail(vault, mail);
      try {
        await smtp.send({ email, id: mail.key, date: now(), signal });
      } catch (error) {
        throw withoutAddress(error, email.to);
      }
    },
    afterDelivery: drop,
    close: smtp.close,
  };
}

function drop(tx: Transaction, mail: Stored<QueuedMail>): void {
  tx.check(queuedMails, mail);
  tx.remove(queuedMails, mail.key);
}

function retryLater(tx: Transaction, mail: Stored<QueuedMail>): void {
  const { failures } = mail.value;
  const dueInMs = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
  tx.update(queuedMails, mail, { value: { ...mail.value, failures: failures + 1 }, dueInMs });
}

/**
 * Creates the error for the log. It omits the recipient's address, which mail servers repeat in
 * their replies.
 */
function withoutAddress(error: unknown, address: string): Error {
  const { message, command, responseCode } = error as Error & Readonly<Record<string, unknown>>;
  const reason = message.replaceAll(address, "<address>").replace(/\p{Cc}+/gu, " ");
  const logged = new Error(`mail could not be sent: ${reason.slice(0, MAX_REASON_LENGTH)}`);
  return Object.assign(logged, { command, responseCode });
}
