import { createHmac, randomBytes, randomInt } from "node:crypto";
import { type Auditor, callerAddress } from "../../access/auditor.ts";
import { MAX_CODE_TRIES, newOneTimeCode, typedCode } from "../../access/one-time-code.ts";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { networkOf } from "../../limits/address-key.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { Outbox } from "../../mail/outbox.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import type { AccountService } from "./accounts.ts";

/** Length of an HMAC-SHA256 in bytes. */
const HMAC_BYTES = 32;

/** Lifetime of a code, in minutes. */
const TTL_MINUTES = 10;

const TTL_MS = TTL_MINUTES * 60_000;

/** An email is sent after a random delay between these bounds, in milliseconds, so that the
 *  response time of the next request does not reveal whether the mail worker is busy. */
const MIN_DELAY_MS = 300;
const MAX_DELAY_MS = 2_000;

/** A sign-in code that was sent by email. */
interface SentCode {
  /** Normalized address that the code was sent to. */
  readonly email: string;
  /** HMAC of the code with the browser's secret as key: the digits cannot be recovered from the
   *  stored value. */
  readonly proof: string;
  readonly triesLeft: number;
}

/** Valid codes by the hash of the browser's secret. */
export const signInCodes = collection<SentCode>("sign-in-codes", {
  groups: ({ email }) => [emailGroup(email)],
  ttlMs: TTL_MS,
});

/** Who may get a code. */
export interface CodeRecipients {
  /** Whether the code may be for a new account, where `SIGN_UP` allows one. */
  readonly isForNew: boolean;
  /**
   * Whether the browser is one of the mailbox's owner, who gets the code although the mailbox gets
   * no mail.
   */
  readonly isForOwner: boolean;
}

/** Dependencies of `EmailCodeSignIn`. */
interface EmailCodeSignInOptions {
  readonly records: Records;
  readonly accounts: AccountService;
  readonly mailbox: Outbox;
  /** Display name of the service, for the email. */
  readonly serviceName: string;
  readonly signUp: SignUpMode;
  /** Whether the operator has accepted an application from this email address. */
  readonly isAccepted: (email: string) => Promise<boolean>;
  readonly audit: Auditor;
  /** Hashes a network address, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
}

/**
 * Signs people in with a code that is sent to their email address. A new code replaces the previous
 * code of the same browser. For an address that may not sign in, the same records are written, but
 * the email expires at once and no code matches.
 */
export class EmailCodeSignIn {
  readonly #options: EmailCodeSignInOptions;

  constructor(options: EmailCodeSignInOptions) {
    this.#options = options;
  }

  /**
   * Sends a code if this address may sign in. The response does not reveal whether the address may
   * sign in.
   *
   * @param browser Secret of the browser; the code is valid only in this browser.
   * @param email Normalized.
   * @returns The code, which must not leave this machine by any other way than the email.
   */
  async sendCode(
    browser: string,
    email: string,
    { isForNew, isForOwner }: CodeRecipients,
  ): Promise<string> {
    const { records, mailbox, serviceName, hashAddress } = this.#options;
    const signUp = isForNew ? this.#options.signUp : "closed";
    const isAllowed = await maySignIn(email, { ...this.#options, signUp });
    const code = newOneTimeCode();
    const validProof = proofOf(browser, { email, code });
    const proof = isAllowed ? validProof : randomBytes(HMAC_BYTES).toString("base64url");
    const key = fingerprint(browser);
    const value = { email, proof, triesLeft: MAX_CODE_TRIES };
    const mail = {
      to: email,
      subject: `Your code for ${serviceName}`,
      text: messageText(code, serviceName),
      ttlMs: isAllowed ? TTL_MS : 0,
      isForOwner,
      dueInMs: randomInt(MIN_DELAY_MS, MAX_DELAY_MS),
      cause: hashAddress(networkOf(callerAddress())),
    };
    await transact(records, (tx) => {
      tx.put(signInCodes, { key, value });
      mailbox.queue(tx, mail);
    });
    return code;
  }

  /** The email address to which this browser's pending code was sent. */
  async pending(browser: string): Promise<{ readonly email: string } | undefined> {
    const sent = await this.#options.records.get(signInCodes, fingerprint(browser));
    return sent && { email: sent.value.email };
  }

  /** Signs the person in. @returns The account id, or `undefined` when the code is wrong, expired
   *  or used. */
  async complete(browser: string, typed: string): Promise<string | undefined> {
    const email = await this.#verifyCode(browser, typedCode(typed));
    if (email === undefined) return undefined;
    return (await this.#options.accounts.findOrCreateByEmail(email)).id;
  }

  #verifyCode(browser: string, code: string): Promise<string | undefined> {
    const { records, audit } = this.#options;
    return transact(records, async (tx) => {
      const sent = await tx.get(signInCodes, fingerprint(browser));
      if (sent === undefined) return undefined;
      const { email, proof } = sent.value;
      const isRight = isEqualConstantTime(proof, proofOf(browser, { email, code }));
      if (isRight) tx.remove(signInCodes, sent.key);
      else countFailedAttempt(tx, sent, audit);
      return isRight ? email : undefined;
    });
  }
}

/**
 * Whether a sign-up mode allows this address to sign in. Reads the same records in every case, so
 * that the response time reveals nothing.
 */
async function maySignIn(
  email: string,
  { accounts, isAccepted, signUp }: EmailCodeSignInOptions,
): Promise<boolean> {
  const [isKnown, wasAccepted] = await Promise.all([accounts.hasEmail(email), isAccepted(email)]);
  return { open: true, applications: isKnown || wasAccepted, closed: isKnown }[signUp];
}

/** Binds a code to one browser and one email address: an HMAC keyed with the browser's secret. */
function proofOf(
  browser: string,
  { email, code }: { readonly email: string; readonly code: string },
): string {
  return createHmac("sha256", browser)
    .update(JSON.stringify([email, code]))
    .digest("base64url");
}

function countFailedAttempt(tx: Transaction, sent: Stored<SentCode>, audit: Auditor): void {
  const triesLeft = sent.value.triesLeft - 1;
  if (triesLeft > 0) tx.update(signInCodes, sent, { value: { ...sent.value, triesLeft } });
  else {
    tx.remove(signInCodes, sent.key);
    audit(tx, { action: "sign_in.code_burnt", actor: "anonymous", target: "sign-in" });
  }
}

function messageText(code: string, serviceName: string): string {
  return [
    `Someone, most likely you, wants to sign in to ${serviceName}`,
    "with this email address.",
    "",
    `Your code: ${code}`,
    "",
    "Enter it on the page where you requested it. It works once, only in that browser, and expires in",
    `${TTL_MINUTES} minutes. Never give it to anyone: we will never ask you for it.`,
    "",
    "If you did not request it, ignore this email: nobody can sign in without the code.",
    "",
  ].join("\n");
}
