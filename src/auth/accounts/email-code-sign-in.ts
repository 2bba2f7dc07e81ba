import { createHmac, randomBytes, randomInt } from "node:crypto";
import type { SignUp } from "../../config/config.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { widestNetwork } from "../../limits/address-key.ts";
import { emailGroup } from "../../mail/email-address.ts";
import type { Mailbox } from "../../mail/outbox.ts";
import { put, removeAt, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import { type Auditor, callerAddress } from "../auditor.ts";
import { isSameText } from "../secrets.ts";
import type { Accounts } from "./accounts.ts";

/** Digits of a code. */
const DIGITS = 8;

/** Length of an HMAC-SHA256. */
const PROOF_BYTES = 32;

/** Life of a code in minutes, and how often one may be wrong. */
const LIFE_MINUTES = 10;
const TRIES = 5;

const LIFE_MS = LIFE_MINUTES * 60_000;

/** A message is due at some instant within these milliseconds, so that nobody can tell by how fast
 *  the next request is answered whether the mail worker has one to send. */
const DUE_FROM_MS = 300;
const DUE_UNTIL_MS = 2_000;

/** A code that was sent. */
interface SentCode {
  /** Normalized. */
  readonly email: string;
  /** HMAC of the code under the secret of the browser: eight digits cannot be guessed from the
   *  store. */
  readonly proof: string;
  readonly triesLeft: number;
}

/** Codes that can still be used, by the hash of the browser's secret. */
export const signInCodes = collection<SentCode>("sign-in-codes");

/** Signs people in by a code that is sent to their email address. */
export interface SignIn {
  /**
   * Sends a code if this address may sign in. The response is the same if it may not.
   *
   * @param browser Secret of the browser; the code is good in no other.
   * @param email Normalized.
   */
  sendCode(browser: string, email: string): Promise<void>;

  /** The address to which a code was sent for this browser, to be shown again. */
  pending(browser: string): Promise<{ readonly email: string } | undefined>;

  /** @returns The id of the account, or `undefined` when the code is wrong, expired or used up. */
  complete(browser: string, code: string): Promise<string | undefined>;
}

/** What people are signed in with. */
export interface SignInOptions {
  readonly records: Records;
  readonly accounts: Accounts;
  readonly mailbox: Mailbox;
  /** Human name of the service, for the message. */
  readonly serviceName: string;
  readonly signUp: SignUp;
  /** Whether the operator accepted an application of this address. */
  readonly isAccepted: (email: string) => Promise<boolean>;
  readonly audit: Auditor;
  /** Networks are stored as hashes only. */
  readonly hashAddress: (address: string) => string;
}

/** Creates the sign-in by email code. A new code replaces the one before in the same browser. An
 *  address that may not sign in is treated alike, except that its message expires at once and no
 *  code matches. */
export function createSignIn(options: SignInOptions): SignIn {
  const { records, accounts, mailbox, serviceName, audit, hashAddress } = options;
  const judged = async (browser: string, code: string): Promise<string | undefined> => {
    const sent = await records.get(signInCodes, fingerprint(browser));
    if (sent === undefined) return undefined;
    const { email, proof } = sent.value;
    const isRight = isSameText(proof, proofOf(browser, { email, code }));
    const steps = isRight ? [removeAt(signInCodes, sent)] : afterWrong(sent, audit);
    // When it does not hold, another attempt came between.
    if (!(await records.commit(steps))) return judged(browser, code);
    return isRight ? email : undefined;
  };
  return {
    async sendCode(browser, email) {
      const isWelcome = await maySignIn(email, options);
      const code = newCode();
      const fitting = proofOf(browser, { email, code });
      const proof = isWelcome ? fitting : randomBytes(PROOF_BYTES).toString("base64url");
      const placing = { groups: [emailGroup(email)], ttlMs: LIFE_MS };
      const value = { email, proof, triesLeft: TRIES };
      await records.commit([
        put(signInCodes, { key: fingerprint(browser), value, ...placing }),
        ...mailbox.queued({
          to: email,
          subject: `Your code for ${serviceName}`,
          text: messageText(code, serviceName),
          usefulMs: isWelcome ? LIFE_MS : 0,
          dueInMs: randomInt(DUE_FROM_MS, DUE_UNTIL_MS),
          network: hashAddress(widestNetwork(callerAddress())),
        }),
      ]);
    },
    async pending(browser) {
      const sent = await records.get(signInCodes, fingerprint(browser));
      return sent && { email: sent.value.email };
    },
    async complete(browser, typed) {
      const email = await judged(browser, typed.replace(/[\s-]/g, ""));
      return email === undefined ? undefined : (await accounts.findOrCreateByEmail(email)).id;
    },
  };
}

/** Reads the same in every case, so that the time reveals nothing. */
async function maySignIn(
  email: string,
  { accounts, isAccepted, signUp }: SignInOptions,
): Promise<boolean> {
  const [isKnown, wasAccepted] = await Promise.all([accounts.hasEmail(email), isAccepted(email)]);
  return { open: true, applications: isKnown || wasAccepted, closed: isKnown }[signUp];
}

function newCode(): string {
  return String(randomInt(10 ** DIGITS)).padStart(DIGITS, "0");
}

/** Good in one browser and for one address only. */
function proofOf(
  browser: string,
  { email, code }: { readonly email: string; readonly code: string },
): string {
  return createHmac("sha256", browser)
    .update(JSON.stringify([email, code]))
    .digest("base64url");
}

function afterWrong(sent: Stored<SentCode>, audit: Auditor): readonly Operation[] {
  const triesLeft = sent.value.triesLeft - 1;
  if (triesLeft > 0) return [replace(signInCodes, sent, { value: { ...sent.value, triesLeft } })];
  const entry = { action: "sign_in.code_burnt", actor: "anonymous", target: "sign-in" };
  return [removeAt(signInCodes, sent), ...audit(entry)];
}

function messageText(code: string, serviceName: string): string {
  return [
    `Somebody, most likely you, wants to sign in to ${serviceName}`,
    "with this email address.",
    "",
    `Your code: ${code}`,
    "",
    "Type it on the page where you asked for it. It works once, only in that browser, and ends in",
    `${LIFE_MINUTES} minutes. Give it to nobody: nobody who means well will ask you for it.`,
    "",
    "If you did not ask for it, ignore this message: without the code nobody gets in.",
    "",
  ].join("\n");
}
