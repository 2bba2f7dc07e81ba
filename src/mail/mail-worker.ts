import { setTimeout as delay } from "node:timers/promises";
import type { MailChoice } from "../config/config.ts";
import { type Loop, schedule, startLoop } from "../lib/loop.ts";
import { shareOf } from "../limits/share.ts";
import type { Vault } from "../store/keys/vault.ts";
import { removeAt, replace } from "../store/port/operations.ts";
import type { Operation, Records, Stored } from "../store/port/records.ts";
import type { Email } from "./email.ts";
import { MAIL_TOPIC, mails, networkGroupIn, openedEmail, type QueuedMail } from "./outbox.ts";
import { createSmtp, isPermanentRejection } from "./smtp.ts";

/** Poll interval in milliseconds, since an announcement may be lost. */
const POLL_MS = 2_000;

/** Most emails that are being sent at once. */
const MAX_IN_FLIGHT = 20;

/** Most of them that one network has caused: fewer than the connections to the mail server. */
const MAX_IN_FLIGHT_OF_NETWORK = 4;

/** Timeout of an attempt, in milliseconds. */
const ATTEMPT_TIMEOUT_MS = 30_000;

/** Lease of a claimed email, in milliseconds: longer than an attempt, so that no other process claims
 *  it meanwhile. */
const LEASE_MS = 2 * ATTEMPT_TIMEOUT_MS;

/** Delay before the first retry, in milliseconds; it doubles with each failure. */
const FIRST_RETRY_MS = 2_000;

/** Longest delay before a retry, in milliseconds. */
const MAX_RETRY_MS = 60_000;

/** Time that attempts in flight have to finish when the process stops, in milliseconds. */
const STOP_TIMEOUT_MS = 2_000;

/** Most characters of a server's reply that are logged. */
const MAX_REASON_LENGTH = 300;

/** What the worker is made from. */
export interface MailWorkerOptions {
  readonly records: Records;
  /** The vault that sealed the emails. */
  readonly vault: Vault;
  /** Absent: nothing is sent, and emails wait for the operator until they expire. */
  readonly smtp?: MailChoice | undefined;
  /** Shows an email to the operator, once; only used without `smtp`. */
  readonly onTerminal?: ((email: Email) => void) | undefined;
  readonly now: () => Date;
  /** Told about every failed attempt, and when the store does not answer. */
  readonly onError: (error: unknown) => void;
}

/** How emails leave the service. */
interface Transport {
  deliver(mail: Stored<QueuedMail>, signal: AbortSignal): Promise<void>;
  /** What to commit after the delivery. */
  delivered(mail: Stored<QueuedMail>): Operation;
  close(): void;
}

/**
 * Sends the emails of the outbox. Every process has a worker, and a lease keeps each email to one of
 * them. A failed email is retried with exponential backoff until it expires or the server rejects its
 * recipient permanently. An email may arrive twice: when the process or the store fails between the
 * server's acceptance and the commit that records it.
 */
export class MailWorker {
  readonly #records: Records;
  readonly #onError: (error: unknown) => void;
  /** Absent: there is neither a mail server nor a terminal, and emails stay where they are. */
  readonly #transport: Transport | undefined;
  readonly #stopping = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  /** How many of them each network has caused, by its group. */
  readonly #ofNetworks = new Map<string, number>();
  #loop: Loop | undefined;
  #unsubscribe = () => {};

  constructor(options: MailWorkerOptions) {
    this.#records = options.records;
    this.#onError = options.onError;
    this.#transport = transportOf(options);
  }

  start(): void {
    const transport = this.#transport;
    if (transport === undefined) return;
    this.#loop = startLoop({
      tick: () => this.#claim(transport),
      everyMs: POLL_MS,
      onError: this.#onError,
      schedule,
    });
    this.#unsubscribe = this.#records.onAnnounce(MAIL_TOPIC, this.#loop.wake);
  }

  /** Resolves when no attempt is in flight any more; nothing is sent after that. */
  async stop(): Promise<void> {
    this.#unsubscribe();
    await this.#loop?.stop();
    const attempts = Promise.all(this.#inFlight);
    await Promise.race([attempts, delay(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    this.#stopping.abort();
    await attempts;
    this.#transport?.close();
  }

  /** Claims due emails and starts an attempt for each. @returns How many. */
  async #claim(transport: Transport): Promise<number> {
    const left = MAX_IN_FLIGHT - this.#inFlight.size;
    if (left === 0) return 0;
    const share = shareOf({ total: MAX_IN_FLIGHT, most: MAX_IN_FLIGHT_OF_NETWORK }, left);
    const networks = [...this.#ofNetworks].filter(([, count]) => count >= share);
    const due = await this.#records.claimDue(mails, {
      // All of them may be of one network.
      limit: Math.min(left, Math.floor(share)),
      leaseMs: LEASE_MS,
      except: networks.map(([group]) => group),
    });
    for (const mail of due) {
      const network = networkGroupIn(mail.groups);
      this.#count(network, 1);
      const attempt = this.#attempt(mail, transport)
        .catch(this.#onError)
        .finally(() => {
          this.#inFlight.delete(attempt);
          this.#count(network, -1);
          this.#loop?.wake();
        });
      this.#inFlight.add(attempt);
    }
    return due.length;
  }

  #count(network: string | undefined, change: 1 | -1): void {
    if (network === undefined) return;
    const count = (this.#ofNetworks.get(network) ?? 0) + change;
    if (count === 0) this.#ofNetworks.delete(network);
    else this.#ofNetworks.set(network, count);
  }

  /** The final commit fails without effect when the email has expired or another process has claimed
   *  it. */
  async #attempt(mail: Stored<QueuedMail>, transport: Transport): Promise<void> {
    try {
      await transport.deliver(mail, this.#stopping.signal);
    } catch (error) {
      this.#onError(error);
      const failed = isPermanentRejection(error) ? removeAt(mails, mail) : retried(mail);
      await this.#records.commit([failed]);
      return;
    }
    await this.#records.commit([transport.delivered(mail)]);
  }
}

function transportOf({ vault, smtp, onTerminal, now }: MailWorkerOptions): Transport | undefined {
  if (smtp !== undefined) return smtpTransport(smtp, vault, now);
  if (onTerminal === undefined) return undefined;
  return {
    deliver: async (mail) => onTerminal(openedEmail(vault, mail)),
    // Stays for `market-signal admin mail`, but is not due again.
    delivered: (mail) => replace(mails, mail, { value: mail.value, dueInMs: null }),
    close: () => {},
  };
}

function smtpTransport(choice: MailChoice, vault: Vault, now: () => Date): Transport {
  const smtp = createSmtp(choice);
  return {
    async deliver(mail, stopping) {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(ATTEMPT_TIMEOUT_MS)]);
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

function retried(mail: Stored<QueuedMail>): Operation {
  const { failures } = mail.value;
  const dueInMs = Math.min(FIRST_RETRY_MS * 2 ** failures, MAX_RETRY_MS);
  return replace(mails, mail, { value: { ...mail.value, failures: failures + 1 }, dueInMs });
}

/** The error for the log. Servers repeat the recipient's address in their replies. */
function withoutAddress(error: unknown, address: string): Error {
  const { message, command, responseCode } = error as Error & Readonly<Record<string, unknown>>;
  const reason = message.replaceAll(address, "<address>").replace(/\p{Cc}+/gu, " ");
  const logged = new Error(`mail could not be sent: ${reason.slice(0, MAX_REASON_LENGTH)}`);
  return Object.assign(logged, { command, responseCode });
}
