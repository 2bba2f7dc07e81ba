import { createHmac, randomBytes } from "node:crypto";
import { parseCookie, stringifySetCookie } from "cookie";
import type { Auditor } from "../../access/auditor.ts";
import { isEqualConstantTime } from "../../access/secrets.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { Limits } from "../../limits/limits.ts";
import { type Collection, collection, type Records } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import { accountRecordsGroup } from "../agents/agent.ts";
import { accounts } from "./accounts.ts";

const DAY_MS = 24 * 3_600_000;

/** Name of the session cookie. */
const SESSION_COOKIE = "market-signal";

/** Name of the cookie that marks a browser as known; signing out does not remove it. */
const KNOWN_BROWSER_COOKIE = "market-signal-known";

/**
 * Cookie name prefix that prevents other hosts, and pages without TLS, from setting the cookie
 * (draft-ietf-httpbis-rfc6265bis section 4.1.3.2).
 */
const HOST_PREFIX = "__Host-";

/** Length of a cookie's secret, in random bytes. */
const SECRET_BYTES = 32;

/** Format of a secret: `SECRET_BYTES` random bytes in unpadded URL-safe base64. */
const SECRET = /^[\w-]{43}$/;

/** Lifetime of a session, in milliseconds. */
const SESSION_MS = 14 * DAY_MS;

/** How long a browser counts as known after its last sign-in, in milliseconds. */
const KNOWN_BROWSER_MS = 180 * DAY_MS;

/**
 * Maximum number of sessions per person, and of known browsers per person. At the maximum, a new
 * session or browser replaces the oldest.
 */
const MAX_BROWSERS = 100;

/**
 * Page size for reading the records of a person; larger than the number of records that a person
 * can have.
 */
const MAX_LISTED = 10_000;

/**
 * Maximum age of a sign-in with which a person may claim an agent, in milliseconds. An agent often
 * controls its person's browser, so an old sign-in does not prove that the person is present; a
 * code from the person's mailbox does.
 */
const FRESH_SIGN_IN_MS = 5 * 60_000;

/** A person's session in a browser. */
export interface BrowserSession {
  readonly accountId: string;
  /** When the person last authenticated, in milliseconds since the epoch. */
  readonly signedInAt: number;
  /** Set if the sign-in is not in the audit log, so that its sign-out is not either. */
  readonly isUnrecorded?: true;
}

/** Value of a `Set-Cookie` header. */
type SetCookie = string;

/** A browser, identified by its cookie. */
export interface Browser {
  /**
   * 256 random bits that only this browser has. Records about the browser use the hash of this
   * secret as their key.
   */
  readonly secret: string;
  /** Set-Cookie header for a browser that sent no valid cookie. */
  readonly setCookie: SetCookie | undefined;
  readonly session: BrowserSession | undefined;
  /** CSRF token: every form contains it, and other sites cannot read it. */
  readonly formToken: string;
}

/** Sessions by the hash of the browser's secret. */
export const browserSessionRecords = collection<BrowserSession>("sessions", {
  groups: ({ accountId }) => [accountRecordsGroup(accountId)],
  ttlMs: SESSION_MS,
});

/** The last account that signed in at a browser, by the hash of the known-browser cookie. */
const knownBrowsers = collection<{ readonly accountId: string }>("known-browsers", {
  groups: ({ accountId }) => [accountRecordsGroup(accountId)],
  ttlMs: KNOWN_BROWSER_MS,
});

/** Dependencies of `BrowserSessions`. */
interface BrowserSessionsOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Whether the service is reached over https. */
  readonly secure: boolean;
  readonly audit: Auditor;
  /** Bounds the sign-ins of an account in the audit log: what it refuses happens, unrecorded. */
  readonly limits: Pick<Limits, "admit">;
}

/** Whether a person authenticated within the last five minutes. @param signedInAt Milliseconds
 *  since the epoch. @param now Milliseconds since the epoch. */
export function isFreshSignIn(signedInAt: number, now: number): boolean {
  return now - signedInAt <= FRESH_SIGN_IN_MS;
}

/**
 * Browser sessions. The session cookie is HttpOnly and SameSite=Lax, with the prefix `__Host-` over
 * https. A request without exactly one well-formed cookie counts as a new browser. Signing in
 * replaces the secret, which makes a planted cookie worthless (session fixation).
 *
 * A second cookie marks browsers in which a person has signed in before. It does not authenticate
 * the person: it only gives the browser, and the network in which the person first signed in,
 * separate rate limits, which others who enter the same email address cannot use up.
 */
export class BrowserSessions {
  readonly #records: Records;
  readonly #now: () => Date;
  readonly #audit: Auditor;
  readonly #limits: Pick<Limits, "admit">;
  readonly #secure: boolean;
  readonly #sessionCookie: string;
  readonly #knownBrowserCookie: string;

  constructor({ records, now, secure, audit, limits }: BrowserSessionsOptions) {
    this.#records = records;
    this.#now = now;
    this.#audit = audit;
    this.#limits = limits;
    this.#secure = secure;
    const prefix = secure ? HOST_PREFIX : "";
    this.#sessionCookie = prefix + SESSION_COOKIE;
    this.#knownBrowserCookie = prefix + KNOWN_BROWSER_COOKIE;
  }

  /**
   * Finds the browser that sent a request.
   * @param cookieHeader The request's Cookie header.
   */
  async browserOf(cookieHeader: string | undefined): Promise<Browser> {
    const known = secretIn(cookieHeader, this.#sessionCookie);
    const secret = known ?? newSecret();
    const found = known && (await this.#records.get(browserSessionRecords, fingerprint(known)));
    return {
      secret,
      setCookie: known === undefined ? this.#setSession(secret) : undefined,
      session: found ? found.value : undefined,
      formToken: formTokenOf(secret),
    };
  }

  /** Whether a form was sent from a page shown in this browser. The comparison takes constant
   *  time. */
  isFormTokenOf({ secret }: Browser, formToken: unknown): boolean {
    return typeof formToken === "string" && isEqualConstantTime(formTokenOf(secret), formToken);
  }

  /**
   * Signs a person in. If the account was deleted in the meantime, the browser gets a new secret
   * without a session.
   *
   * @param signedInAt When the person authenticated, in milliseconds since the epoch; a future time
   * counts as now. Default: now.
   */
  async open(
    browser: Browser,
    accountId: string,
    signedInAt = Number.POSITIVE_INFINITY,
  ): Promise<SetCookie> {
    const secret = newSecret();
    const isRecorded = await this.#mayRecord(accountId);
    const value = {
      accountId,
      signedInAt: Math.min(signedInAt, this.#now().getTime()),
      ...(!isRecorded && { isUnrecorded: true as const }),
    };
    const isOpen = await transact(this.#records, async (tx) => {
      if ((await tx.get(accounts, accountId)) === undefined) return false;
      await removeExcess(tx, browserSessionRecords, accountId);
      tx.remove(browserSessionRecords, fingerprint(browser.secret));
      tx.insert(browserSessionRecords, { key: fingerprint(secret), value });
      if (isRecorded) {
        this.#audit(tx, { action: "session.opened", actor: accountId, target: accountId });
      }
      return true;
    });
    return this.#setSession(secret, isOpen ? SESSION_MS / 1000 : undefined);
  }

  /**
   * Signs the person out.
   * @returns The `Set-Cookie` header that deletes the session cookie.
   */
  async close({ secret }: Browser): Promise<SetCookie> {
    await transact(this.#records, async (tx) => {
      const open = await tx.get(browserSessionRecords, fingerprint(secret));
      if (open === undefined) return;
      tx.remove(browserSessionRecords, open.key);
      const { accountId: actor, isUnrecorded = false } = open.value;
      if (!isUnrecorded) this.#audit(tx, { action: "session.closed", actor, target: actor });
    });
    return this.#setSession("", 0);
  }

  /**
   * The network in which the person with an email address first signed in, if they signed in at
   * this browser before. It is what such browsers count for, wherever they are now.
   *
   * @param email Normalized email address of the person.
   * @returns Hash of the network, or the account's id where no network is stored; `undefined` if
   * the browser is not known to be the person's.
   */
  async networkOfKnown(
    cookieHeader: string | undefined,
    email: string,
  ): Promise<string | undefined> {
    const secret = secretIn(cookieHeader, this.#knownBrowserCookie);
    if (secret === undefined) return undefined;
    const known = await this.#records.get(knownBrowsers, fingerprint(secret));
    const account = known && (await this.#records.get(accounts, known.value.accountId));
    if (account?.value.email !== email) return undefined;
    return account.value.network ?? account.key;
  }

  /** Marks the browser as known to an account. @returns `undefined` when the account was
   *  deleted. */
  async rememberBrowser(
    cookieHeader: string | undefined,
    accountId: string,
  ): Promise<SetCookie | undefined> {
    const secret = newSecret();
    const before = secretIn(cookieHeader, this.#knownBrowserCookie);
    const isStored = await transact(this.#records, async (tx) => {
      if ((await tx.get(accounts, accountId)) === undefined) return false;
      await removeExcess(tx, knownBrowsers, accountId);
      tx.insert(knownBrowsers, { key: fingerprint(secret), value: { accountId } });
      if (before !== undefined) tx.remove(knownBrowsers, fingerprint(before));
      return true;
    });
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

  /**
   * Whether one more sign-in of an account, with its sign-out, may be written to the audit log.
   * Each account has numbers of its own, so that nobody else can use up the rows in which a stolen
   * sign-in shows.
   */
  async #mayRecord(accountId: string): Promise<boolean> {
    const party = { caller: accountId, network: accountId, pool: accountId };
    return !(await this.#limits.admit("audit-rows", party)).isExceeded;
  }

  /**
   * The header that sets the session cookie.
   * @param maxAge Lifetime in seconds; absent for a cookie that the browser deletes when it closes.
   */
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

/**
 * Deletes a person's oldest sessions or known browsers to make room for one more within
 * `MAX_BROWSERS`.
 */
async function removeExcess(
  tx: Transaction,
  from: Collection<object>,
  accountId: string,
): Promise<void> {
  const group = accountRecordsGroup(accountId);
  const all = await tx.list(from, { group, limit: MAX_LISTED });
  for (const { key } of all.slice(0, Math.max(0, all.length - MAX_BROWSERS + 1))) {
    tx.remove(from, key);
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}

function formTokenOf(secret: string): string {
  return createHmac("sha256", secret).update("form").digest("base64url");
}

/**
 * The secret in a Cookie header. If several cookies have this name, all are ignored, since another
 * site may have set one of them.
 */
function secretIn(header = "", name: string): string | undefined {
  const isNamed = (part: string) => part.trimStart().startsWith(`${name}=`);
  if (header.split(";").filter(isNamed).length !== 1) return undefined;
  const secret = parseCookie(header)[name];
  return secret !== undefined && SECRET.test(secret) ? secret : undefined;
}
