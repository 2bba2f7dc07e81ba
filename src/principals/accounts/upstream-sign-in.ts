import { createHmac, randomUUID } from "node:crypto";
import { AuthorizationResponseError, type CustomFetch } from "openid-client";
import { isEqualConstantTime } from "../../access/secrets.ts";
import type { SignUpMode } from "../../access/sign-up-mode.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import { Problem } from "../../lib/problem.ts";
import { collection, type Records, type Stored } from "../../store/port/records.ts";
import { transact } from "../../store/transact.ts";
import type { AccountService } from "./accounts.ts";

import {
  createUpstreamClient,
  type SignInBinding,
  type UpstreamIdentity,
  type UpstreamProviderSettings,
} from "./upstream-client.ts";

/** Time limit for completing a sign-in at the provider, in milliseconds. */
const PENDING_MS = 600_000;

/**
 * A pending sign-in. The state, nonce and verifier are derived from the browser's secret, so the
 * stored record is useless to an attacker.
 */
interface PendingSignIn {
  readonly salt: string;
  readonly returnTo: string;
}

/** Pending sign-ins by the hash of the browser's secret. */
const pendingSignIns = collection<PendingSignIn>("upstream-attempts", { ttlMs: PENDING_MS });

/** A completed sign-in at the provider. */
interface SignedIn {
  readonly accountId: string;
  /** When the person authenticated, in milliseconds since the epoch by the provider's clock. */
  readonly signedInAt: number;
  readonly returnTo: string;
}

/** Sign-in with an external OpenID provider. */
export interface UpstreamSignIn {
  /** Provider name on the sign-in button: the host name of the provider. */
  readonly name: string;

  /** Starts a sign-in. @returns The URL of the provider to redirect the browser to. */
  start(browser: string, returnTo: string): Promise<URL>;

  /** Completes a sign-in. @returns `undefined` when the callback is not valid or the person may not
   *  sign in. */
  finish(browser: string, callback: URL): Promise<SignedIn | undefined>;
}

/** Options of `createUpstreamSignIn`. */
export interface UpstreamSignInOptions {
  /** The callback URL, as registered at the provider. */
  readonly redirectUri: string;
  /** Replaces the global `fetch`. */
  readonly fetch?: CustomFetch;
  readonly choice: UpstreamProviderSettings;
  readonly records: Records;
  readonly accounts: AccountService;
  readonly signUp: SignUpMode;
  /** Whether the operator has accepted an application from this email address. */
  readonly isAccepted: (email: string) => Promise<boolean>;
  /**
   * Called with the reason why a response of the provider was rejected. The reason contains no
   * personal data.
   */
  readonly onError: (error: unknown) => void;
}

/**
 * Signs people in with an external OpenID provider (OpenID Connect Core 1.0 section 3.1): code flow
 * with PKCE, state, nonce and the issuer check of RFC 9207. A browser has one pending sign-in, for
 * ten minutes, and its callback is accepted once. The account is found by issuer and subject, never
 * by email address.
 *
 * @throws {Problem} `start` and `finish`: `provider_unavailable` when the provider does not respond
 * in time.
 */
export function createUpstreamSignIn(options: UpstreamSignInOptions): UpstreamSignIn {
  const { choice, records, accounts, onError } = options;
  const client = createUpstreamClient({ ...options, ...choice });
  const name = new URL(choice.issuer).host;
  const failureReport = { name, onError };
  return {
    name,
    async start(browser, returnTo) {
      const salt = randomUUID();
      const address = await client
        .authorizationUrl(checksOf(browser, salt))
        .catch((error) => throwUnavailable(error, failureReport));
      const value = { salt, returnTo };
      await transact(records, (tx) => tx.put(pendingSignIns, { key: fingerprint(browser), value }));
      return address;
    },
    async finish(browser, callback) {
      const attempt = await takePendingSignIn(browser, callback, records);
      if (attempt === undefined) return undefined;
      const identity = await client
        .identify(callback, checksOf(browser, attempt.salt))
        .catch((error) =>
          isOutage(error)
            ? throwUnavailable(error, failureReport)
            : reportInvalid(error, failureReport),
        );
      if (identity === undefined || !(await maySignIn(identity, options))) return undefined;
      const { id: accountId } = await accounts.findOrCreateBySubject(identity);
      return { accountId, signedInAt: identity.signedInAt, returnTo: attempt.returnTo };
    },
  };
}

function checksOf(browser: string, salt: string): SignInBinding {
  const derive = (what: string) =>
    createHmac("sha256", browser).update(`${what}:${salt}`).digest("base64url");
  return { state: derive("state"), nonce: derive("nonce"), verifier: derive("verifier") };
}

/**
 * Finds and removes the pending sign-in of a callback, so that only the first callback counts. A
 * callback whose state does not match changes nothing, since any site can send a browser to the
 * callback URL.
 */
function takePendingSignIn(
  browser: string,
  callback: URL,
  records: Records,
): Promise<PendingSignIn | undefined> {
  return transact(records, async (tx) => {
    const found = await tx.get(pendingSignIns, fingerprint(browser));
    if (found === undefined || !matchesState(found, browser, callback)) return undefined;
    tx.remove(pendingSignIns, found.key);
    return found.value;
  });
}

function matchesState(
  { value }: Stored<PendingSignIn>,
  browser: string,
  { searchParams }: URL,
): boolean {
  return isEqualConstantTime(checksOf(browser, value.salt).state, searchParams.get("state") ?? "");
}

/**
 * Whether the person may sign in: always with an existing account; for everyone else, `SIGN_UP`
 * decides.
 */
async function maySignIn(
  identity: UpstreamIdentity,
  { accounts, signUp, isAccepted }: UpstreamSignInOptions,
): Promise<boolean> {
  if (signUp === "open" || (await accounts.hasSubject(identity))) return true;
  return signUp === "applications" && identity.email !== undefined && isAccepted(identity.email);
}

/** Whether an error means that the provider is unreachable, too slow or broken. */
function isOutage(error: unknown): boolean {
  if (error instanceof Response) return error.status >= 500;
  if (!(error instanceof Error)) return false;
  // A `TypeError` without a code is a network failure reported by `fetch` (Fetch section 5.6).
  const isOfNetwork = error instanceof TypeError && !("code" in error);
  return isOfNetwork || /^(Timeout|Abort)Error$/.test(error.name) || isOutage(error.cause);
}

/** The provider's name, and the callback that errors of the provider are reported to. */
interface FailureReport {
  readonly name: string;
  readonly onError: (error: unknown) => void;
}

function throwUnavailable(error: unknown, { name, onError }: FailureReport): never {
  onError(withoutSecrets(error, name));
  throw new Problem("provider_unavailable", {
    detail: `The sign-in provider ${name} is not responding correctly.`,
    next: "Try again in a moment, or sign in by email.",
    headers: { "retry-after": "5" },
  });
}

/** Reports the error, unless the person declined at the provider. */
function reportInvalid(error: unknown, { name, onError }: FailureReport): undefined {
  if (!(error instanceof AuthorizationResponseError)) onError(withoutSecrets(error, name));
}

/** Describes an error without the tokens and claims that the library attaches to its errors. */
function withoutSecrets(thrown: unknown, name: string): Error {
  const { message, code, error, cause } = thrown as Readonly<Record<string, unknown>>;
  const reasons = [code, error, (cause as { message?: unknown } | undefined)?.message];
  const texts = [message, ...reasons].filter((reason) => typeof reason === "string");
  return new Error(`sign-in at ${name} failed: ${texts.join(", ")}`);
}
