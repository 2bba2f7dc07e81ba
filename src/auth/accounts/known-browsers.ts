import { randomBytes } from "node:crypto";
import { stringifySetCookie } from "cookie";
import { insert, remove, unchanged } from "../../store/port/operations.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { belongingTo } from "../agents/agent.ts";
import { fingerprint } from "../secrets.ts";
import { accounts } from "./account-records.ts";
import { secretIn } from "./cookie-secret.ts";
import type { KnownBrowsers } from "./sessions.ts";

/** Name of the cookie; it stays when the person signs out. */
const COOKIE = "market-signal-known";
const HOST_PREFIX = "__Host-";

const SECRET_BYTES = 32;

/** A browser is known for 180 days from the last sign-in. */
const LIFE_MS = 180 * 24 * 3_600_000;

/** The account that signed in last, by the hash of the cookie's secret. */
const knownBrowsers = collection<{ readonly accountId: string }>("known-browsers");

/** What browsers are remembered with. */
interface KnownBrowsersOptions {
  readonly records: Records;
  /** Whether browsers reach the service by https. */
  readonly secure: boolean;
}

/** Remembers browsers by a cookie of their own. It lets nobody in: a browser that has it is only not
 *  stopped by what strangers do with the address of its person. */
export function createKnownBrowsers({ records, secure }: KnownBrowsersOptions): KnownBrowsers {
  const name = secure ? HOST_PREFIX + COOKIE : COOKIE;
  return {
    async knownBrowser(cookie, email) {
      const secret = secretIn(cookie, name);
      const key = secret === undefined ? undefined : fingerprint(secret);
      const known = key === undefined ? undefined : await records.get(knownBrowsers, key);
      const account = known && (await records.get(accounts, known.value.accountId));
      return account?.value.email === email ? key : undefined;
    },
    async rememberBrowser(cookie, accountId) {
      const [secret, before] = [
        randomBytes(SECRET_BYTES).toString("base64url"),
        secretIn(cookie, name),
      ];
      const account = await records.get(accounts, accountId);
      if (account === undefined) return undefined;
      const placing = { groups: [belongingTo(accountId)], ttlMs: LIFE_MS };
      const isKept = await records.commit([
        unchanged(accounts, account),
        insert(knownBrowsers, { key: fingerprint(secret), value: { accountId }, ...placing }),
        ...(before === undefined ? [] : [remove(knownBrowsers, fingerprint(before))]),
      ]);
      if (!isKept) return undefined;
      const about = { name, value: secret, path: "/", maxAge: LIFE_MS / 1000, secure } as const;
      return stringifySetCookie({ ...about, httpOnly: true, sameSite: "lax" });
    },
  };
}
