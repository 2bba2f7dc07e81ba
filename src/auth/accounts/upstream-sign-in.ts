import { createHmac, randomUUID } from "node:crypto";
import { AuthorizationResponseError, type CustomFetch } from "openid-client";
import type { SignUp, UpstreamChoice } from "../../config/config.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { Problem } from "../../problem.ts";
import { put, removeAt } from "../../store/port/operations.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { isSameText } from "../secrets.ts";
import type { Accounts } from "./accounts.ts";

import { type Checks, createUpstreamClient, type Identity } from "./upstream-client.ts";

/** A person has this many milliseconds to sign in at the provider. */
const ATTEMPT_MS = 600_000;

/** A sign-in that was begun. What ties the answer to it is made from the secret of the browser, so
 *  that nothing in the store helps anybody. */
interface Attempt {
  readonly salt: string;
  readonly returnTo: string;
}

/** Sign-ins under way, by the hash of the browser's secret. */
const attempts = collection<Attempt>("upstream-attempts");

/** A person who returns from the other provider. */
interface SignedIn {
  readonly accountId: string;
  /** When they signed in there, in milliseconds since the epoch by the provider's clock. */
  readonly signedInAt: number;
  readonly returnTo: string;
}

/** Signs people in by another OpenID provider. */
export interface Upstream {
  /** Name of the provider for the button: its host. */
  readonly name: string;

  /** @returns Address to send the browser to. */
  start(browser: string, returnTo: string): Promise<URL>;

  /** @returns Who has signed in and where to go on, or `undefined` when the answer cannot be trusted
   *  or the person may not sign in. */
  finish(browser: string, callback: URL): Promise<SignedIn | undefined>;
}

/** What people are signed in with at another provider. */
export interface UpstreamOptions {
  /** Where the provider sends browsers back to, as it is registered there. */
  readonly redirectUri: string;
  /** Instead of the global one. */
  readonly fetch?: CustomFetch;
  readonly choice: UpstreamChoice;
  readonly records: Records;
  readonly accounts: Accounts;
  readonly signUp: SignUp;
  /** Whether the operator accepted an application of this address. */
  readonly isAccepted: (email: string) => Promise<boolean>;
  /** Told why an answer of the provider was refused, without what it said of the person. */
  readonly onError: (error: unknown) => void;
}

/**
 * Signs people in by another OpenID provider (OpenID Connect Core 1.0 section 3.1): code flow with
 * PKCE, state, nonce and the issuer check of RFC 9207. One attempt per browser, for ten minutes, and
 * one answer to it. The account is that of issuer and subject, never one with the same address.
 *
 * `start` and `finish` throw the problem `provider_unavailable` when the provider does not answer in time.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { choice, records, accounts, onError } = options;
  const client = createUpstreamClient({ ...options, ...choice });
  const name = new URL(choice.issuer).host;
  const told = { name, onError };
  return {
    name,
    async start(browser, returnTo) {
      const salt = randomUUID();
      const address = await client
        .authorizationUrl(checksOf(browser, salt))
        .catch((error) => refuse(error, told));
      const value = { salt, returnTo };
      const placing = { ttlMs: ATTEMPT_MS };
      await records.commit([put(attempts, { key: fingerprint(browser), value, ...placing })]);
      return address;
    },
    async finish(browser, callback) {
      const attempt = await answered(browser, callback, records);
      if (attempt === undefined) return undefined;
      const identity = await client
        .identify(callback, checksOf(browser, attempt.salt))
        .catch((error) => (isOutage(error) ? refuse(error, told) : distrust(error, told)));
      if (identity === undefined || !(await mayEnter(identity, options))) return undefined;
      const { id: accountId } = await accounts.findOrCreateBySubject(identity);
      return { accountId, signedInAt: identity.signedInAt, returnTo: attempt.returnTo };
    },
  };
}

function checksOf(browser: string, salt: string): Checks {
  const made = (what: string) =>
    createHmac("sha256", browser).update(`${what}:${salt}`).digest("base64url");
  return { state: made("state"), nonce: made("nonce"), verifier: made("verifier") };
}

/** The attempt that an answer belongs to, for the first answer only. One with another state changes
 *  nothing: anybody can send a browser here. */
async function answered(
  browser: string,
  callback: URL,
  records: Records,
): Promise<Attempt | undefined> {
  const found = await records.get(attempts, fingerprint(browser));
  if (found === undefined || !isAnswerTo(found, browser, callback)) return undefined;
  return (await records.commit([removeAt(attempts, found)])) ? found.value : undefined;
}

function isAnswerTo({ value }: Stored<Attempt>, browser: string, { searchParams }: URL): boolean {
  return isSameText(checksOf(browser, value.salt).state, searchParams.get("state") ?? "");
}

/** A person with an account may sign in; `SIGN_UP` decides on others. */
async function mayEnter(
  identity: Identity,
  { accounts, signUp, isAccepted }: UpstreamOptions,
): Promise<boolean> {
  if (signUp === "open" || (await accounts.hasSubject(identity))) return true;
  return signUp === "applications" && identity.email !== undefined && isAccepted(identity.email);
}

/** Whether the provider is at fault for giving no answer: out of reach, too slow, or broken. */
function isOutage(error: unknown): boolean {
  if (error instanceof Response) return error.status >= 500;
  if (!(error instanceof Error)) return false;
  // What `fetch` throws without a code (Fetch section 5.6) is a failure of the network.
  const isOfNetwork = error instanceof TypeError && !("code" in error);
  return isOfNetwork || /^(Timeout|Abort)Error$/.test(error.name) || isOutage(error.cause);
}

/** Where failures of the provider are reported. */
interface FailureReport {
  readonly name: string;
  readonly onError: (error: unknown) => void;
}

function refuse(error: unknown, { name, onError }: FailureReport): never {
  onError(failure(error, name));
  throw new Problem("provider_unavailable", {
    detail: `${name}, where you wanted to sign in, does not answer as it should just now.`,
    next: "Try again in a moment, or sign in by email.",
    headers: { "retry-after": "5" },
  });
}

/** That a person declines at the provider is no failure. */
function distrust(error: unknown, { name, onError }: FailureReport): undefined {
  if (!(error instanceof AuthorizationResponseError)) onError(failure(error, name));
}

/** What went wrong, without the tokens and claims that errors of the library carry. */
function failure(thrown: unknown, name: string): Error {
  const { message, code, error, cause } = thrown as Readonly<Record<string, unknown>>;
  const reasons = [code, error, (cause as { message?: unknown } | undefined)?.message];
  const texts = [message, ...reasons].filter((reason) => typeof reason === "string");
  return new Error(`sign-in at ${name} failed: ${texts.join(", ")}`);
}
