import { createHmac, randomBytes } from "node:crypto";
import { stringifySetCookie } from "cookie";
import { insert, remove, unchanged } from "../../store/port/operations.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { belongingTo } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import { fingerprint } from "../secrets.ts";
import { accounts } from "./account-records.ts";
import { isSameText } from "./constant-time.ts";
import { secretIn } from "./cookie-secret.ts";
import { createKnownBrowsers } from "./known-browsers.ts";
import type { Browser, Session, Sessions, SetCookie } from "./sessions.ts";

/** Name of the cookie; with the prefix, no other host and no page without TLS can set it
 *  (draft-ietf-httpbis-rfc6265bis section 4.1.3.2). */
const COOKIE = "market-signal";
const HOST_PREFIX = "__Host-";

const SECRET_BYTES = 32;

/** A person has to sign in again after 14 days. */
const LIFE_MS = 14 * 24 * 3_600_000;

/** Who is signed in, by the hash of the browser's secret. */
export const sessions = collection<Session>("sessions");

/** What sessions are kept with. */
export interface SessionsOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Whether browsers reach the service by https. */
  readonly secure: boolean;
  readonly audit: Auditor;
}

const newSecret = (): string => randomBytes(SECRET_BYTES).toString("base64url");

const formTokenOf = (secret: string): string =>
  createHmac("sha256", secret).update("form").digest("base64url");

/**
 * Creates the sessions. A browser that comes with no cookie, a malformed one or several counts as
 * one that never was here. Whoever signs in gets a new secret, so that one that was planted in a
 * browser before is worth nothing afterwards.
 */
export function createSessions({ records, now, secure, audit }: SessionsOptions): Sessions {
  const name = secure ? HOST_PREFIX + COOKIE : COOKIE;
  const cookie = (value: string, life: { readonly maxAge?: number }): SetCookie =>
    stringifySetCookie({
      name,
      value,
      path: "/",
      httpOnly: true,
      sameSite: "lax",
      secure,
      ...life,
    });

  return {
    ...createKnownBrowsers({ records, secure }),
    async browserOf(header) {
      const known = secretIn(header, name);
      const secret = known ?? newSecret();
      const found = known && (await records.get(sessions, fingerprint(known)));
      return {
        secret,
        setCookie: known === undefined ? cookie(secret, {}) : undefined,
        session: found ? found.value : undefined,
        formToken: formTokenOf(secret),
      };
    },
    isFormTokenOf: ({ secret }, formToken) =>
      typeof formToken === "string" && isSameText(formTokenOf(secret), formToken),
    async open(browser, accountId, signedInAt = Number.POSITIVE_INFINITY) {
      const [secret, account] = [newSecret(), await records.get(accounts, accountId)];
      // The account can have been removed a moment ago: then nobody is signed in.
      if (account === undefined) return cookie(secret, {});
      const value = { accountId, signedInAt: Math.min(signedInAt, now().getTime()) };
      const placing = { groups: [belongingTo(accountId)], ttlMs: LIFE_MS };
      const isOpen = await records.commit([
        unchanged(accounts, account),
        remove(sessions, fingerprint(browser.secret)),
        insert(sessions, { key: fingerprint(secret), value, ...placing }),
        ...audit({ action: "session.opened", actor: accountId, target: accountId }),
      ]);
      return cookie(secret, isOpen ? { maxAge: LIFE_MS / 1000 } : {});
    },
    async close({ secret, session }: Browser) {
      const actor = session?.accountId ?? "anonymous";
      const audited = audit({ action: "session.closed", actor, target: actor });
      const ended = remove(sessions, fingerprint(secret));
      await records.commit(session === undefined ? [ended] : [ended, ...audited]);
      return cookie("", { maxAge: 0 });
    },
  };
}
