import { createHmac, randomBytes } from "node:crypto";
import { parseCookie, stringifySetCookie } from "cookie";
import { fingerprint } from "../../lib/fingerprint.ts";
import { insert, remove, unchanged } from "../../store/port/operations.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import { isSameText } from "../secrets.ts";
import { accounts } from "./accounts.ts";

const DAY_MS = 24 * 3_600_000;

/** Name of the session cookie. */
const SESSION_COOKIE = "market-signal";

/** Name of the cookie by which a browser is recognized; it stays when the person signs out. */
const KNOWN_BROWSER_COOKIE = "market-signal-known";

/** With this prefix, no other host and no page without TLS can set a cookie
 *  (draft-ietf-httpbis-rfc6265bis section 4.1.3.2). */
const HOST_PREFIX = "__Host-";

/** Random bytes of a cookie's secret. */
const SECRET_BYTES = 32;

/** `SECRET_BYTES` random bytes in URL-safe base64. */
const SECRET = /^[\w-]{43}$/;

/** A person has to sign in again after 14 days. */
const SESSION_MS = 14 * DAY_MS;

/** A browser is known for 180 days after the last sign-in. */
const KNOWN_BROWSER_MS = 180 * DAY_MS;

/** How old a sign-in may be for a claim, in milliseconds. An agent often drives the browser of its
 *  person: a sign-in from this morning says nothing about who is there now, a code from the mailbox
 *  does. */
const FRESH_SIGN_IN_MS = 5 * 60_000;

/** A person at a browser. */
export interface Session {
  readonly accountId: string;
  /** When the person proved who they are, in milliseconds since the epoch. */
  readonly signedInAt: number;
}

/** Value of a `Set-Cookie` header. */
type SetCookie = string;

/** A browser as its cookie identifies it. */
export interface Browser {
  /** 256 random bits that only this browser has; records about it are kept under their hash. */
  readonly secret: string;
  /** To be sent when the browser had no cookie yet. */
  readonly setCookie: SetCookie | undefined;
  readonly session: Session | undefined;
  /** CSRF token: part of every form of a page, where another site cannot read it. */
  readonly formToken: string;
}

/** Sessions by the hash of the browser's secret. */
export const sessions = collection<Session>("sessions");

/** The account that signed in last, by the hash of the cookie's secret. */
const knownBrowsers = collection<{ readonly accountId: string }>("known-browsers");

/** What `Sessions` work with. */
interface SessionsOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Whether browsers reach the service by https. */
  readonly secure: boolean;
  readonly audit: Auditor;
}

/** Whether a person proved who they are within the last five minutes.
 *  Both in milliseconds since the epoch. */
export function isFreshSignIn(signedInAt: number, now: number): boolean {
  return now - signedInAt <= FRESH_SIGN_IN_MS;
}

/**
 * Which person is signed in at which browser. One cookie, HttpOnly and SameSite=Lax, `__Host-` when
 * the service is reached by https. A request with no cookie, a malformed one or several counts as a
 * new browser. Signing in replaces the secret, so that one planted in a browser before is worth
 * nothing afterwards (session fixation).
 *
 * A second cookie marks browsers at which a person has signed in before. It signs nobody in: it only
 * gives the browser limits of its own, so that strangers who use the address cannot exhaust them.
 */
export class Sessions {
  readonly #records: Records;
  readonly #now: () => Date;
  readonly #audit: Auditor;
  readonly #secure: boolean;
  readonly #sessionCookie: string;
  readonly #knownBrowserCookie: string;

  constructor({ records, now, secure, audit }: SessionsOptions) {
    this.#records = records;
    this.#now = now;
    this.#audit = audit;
    this.#secure = secure;
    const prefix = secure ? HOST_PREFIX : "";
    this.#sessionCookie = prefix + SESSION_COOKIE;
    this.#knownBrowserCookie = prefix + KNOWN_BROWSER_COOKIE;
  }

  /** @param cookieHeader The request's Cookie header. */
  async browserOf(cookieHeader: string | undefined): Promise<Browser> {
    const known = secretIn(cookieHeader, this.#sessionCookie);
    const secret = known ?? newSecret();
    const found = known && (await this.#records.get(sessions, fingerprint(known)));
    return {
      secret,
      setCookie: known === undefined ? this.#setSession(secret) : undefined,
      session: found ? found.value : undefined,
      formToken: formTokenOf(secret),
    };
  }

  /** Whether a form came from a page of this browser; constant time. */
  isFormTokenOf({ secret }: Browser, formToken: unknown): boolean {
    return typeof formToken === "string" && isSameText(formTokenOf(secret), formToken);
  }

  /**
   * Signs a person in. Nobody is signed in if the account was removed meanwhile.
   *
   * @param signedInAt When they proved who they are, in milliseconds since the epoch, now at the
   *   latest. Absent: now.
   */
  async open(
    browser: Browser,
    accountId: string,
    signedInAt = Number.POSITIVE_INFINITY,
  ): Promise<SetCookie> {
    const secret = newSecret();
    const account = await this.#records.get(accounts, accountId);
    if (account === undefined) return this.#setSession(secret);
    const value = { accountId, signedInAt: Math.min(signedInAt, this.#now().getTime()) };
    const isOpen = await this.#records.commit([
      unchanged(accounts, account),
      remove(sessions, fingerprint(browser.secret)),
      insert(sessions, {
        key: fingerprint(secret),
        value,
        groups: [accountRecordsGroup(accountId)],
        ttlMs: SESSION_MS,
      }),
      ...this.#audit({ action: "session.opened", actor: accountId, target: accountId }),
    ]);
    return this.#setSession(secret, isOpen ? SESSION_MS / 1000 : undefined);
  }

  /** Signs the person out. */
  async close({ secret, session }: Browser): Promise<SetCookie> {
    const actor = session?.accountId ?? "anonymous";
    const audited = this.#audit({ action: "session.closed", actor, target: actor });
    const ended = remove(sessions, fingerprint(secret));
    await this.#records.commit(session === undefined ? [ended] : [ended, ...audited]);
    return this.#setSession("", 0);
  }

  /**
   * @param cookieHeader The request's Cookie header.
   * @param email Normalized.
   * @returns The key under which the browser's attempts are counted, if the person of this address
   *   was the last to sign in at it.
   */
  async knownBrowser(cookieHeader: string | undefined, email: string): Promise<string | undefined> {
    const secret = secretIn(cookieHeader, this.#knownBrowserCookie);
    const key = secret === undefined ? undefined : fingerprint(secret);
    const known = key === undefined ? undefined : await this.#records.get(knownBrowsers, key);
    const account = known && (await this.#records.get(accounts, known.value.accountId));
    return account?.value.email === email ? key : undefined;
  }

  /** Records that a person signed in at the browser. @returns `undefined` when the account is gone. */
  async rememberBrowser(
    cookieHeader: string | undefined,
    accountId: string,
  ): Promise<SetCookie | undefined> {
    const secret = newSecret();
    const before = secretIn(cookieHeader, this.#knownBrowserCookie);
    const account = await this.#records.get(accounts, accountId);
    if (account === undefined) return undefined;
    const isStored = await this.#records.commit([
      unchanged(accounts, account),
      insert(knownBrowsers, {
        key: fingerprint(secret),
        value: { accountId },
        groups: [accountRecordsGroup(accountId)],
        ttlMs: KNOWN_BROWSER_MS,
      }),
      ...(before === undefined ? [] : [remove(knownBrowsers, fingerprint(before))]),
    ]);
    if (!isStored) return undefined;
    return stringifySetCookie({
      name: this.#knownBrowserCookie,
      value: secret,
      path: "/",
      maxAge: KNOWN_BROWSER_MS / 1000,
      secure: this.#secure,
      httpOnly: true,
      sameSite: "lax",
    });
  }

  /** @param maxAge Seconds; absent: until the browser is closed. */
  #setSession(value: string, maxAge?: number): SetCookie {
    return stringifySetCookie({
      name: this.#sessionCookie,
      value,
      path: "/",
      httpOnly: true,
      sameSite: "lax",
      secure: this.#secure,
      ...(maxAge !== undefined && { maxAge }),
    });
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function formTokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}

/** The secret in a Cookie header. Of several cookies of the name, none can be trusted to be the
 *  browser's own. */
function secretIn(header = "", name: string): string | undefined {
  const isNamed = (part: string) => part.trimStart().startsWith(`${name}=`);
  if (header.split(";").filter(isNamed).length !== 1) return undefined;
  const secret = parseCookie(header)[name];
  return secret !== undefined && SECRET.test(secret) ? secret : undefined;
}
