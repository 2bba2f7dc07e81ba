import type { Auditor } from "../../access/auditor.ts";
import { isScope, parseScopeNames, type Scope } from "../../access/scopes.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { UpstreamSubject } from "../../principals/accounts/accounts.ts";
import { deleteGrantById } from "../../principals/accounts/grants.ts";
import { deleteAgent } from "../../principals/accounts/owned-agents.ts";
import { collection, type Records } from "../../store/port/records.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  type AssertionErrorCode,
  CLOCK_SKEW_SECONDS,
  type ClaimSet,
  unverifiedIssuer,
  verifyClaims,
} from "./assertion-claims.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/**
 * Result of a used assertion: the grant of the token that it was exchanged for, or the agent that
 * was registered with it. Records of earlier versions have neither.
 */
type UsedAssertion = Readonly<Partial<Record<"grantId" | "clientId", string>>> & {
  /**
   * Set when the assertion has been replayed: its grant or agent was then revoked, and the audit
   * log records the replay.
   */
  readonly isReplayed?: true;
};

/** Used assertions by the hash of their `iss` and `jti`. */
export const usedAssertions = collection<UsedAssertion>("assertions:used");

/**
 * A valid assertion. It can be used only once: the code that uses it must insert `use` into
 * `usedAssertions` in the same transaction.
 */
export interface VerifiedAssertion {
  readonly subject: UpstreamSubject;
  /** The scopes that the assertion allows; `undefined` when it does not limit them. */
  readonly scopes: readonly Scope[] | undefined;
  /**
   * The resources that the assertion allows (RFC 8707); `undefined` when it does not limit them.
   */
  readonly resources: readonly string[] | undefined;
  /**
   * Key and lifetime of the assertion's record in `usedAssertions`. The insertion is rejected if
   * the assertion was used before.
   */
  readonly use: { readonly key: string; readonly ttlMs: number };
}

/** Verifies identity assertions (ID-JAG). */
export interface AssertionVerifier {
  /**
   * Verifies an assertion at the token endpoint: it must have been issued to the client that
   * presents it.
   */
  forClient(assertion: string, clientId: string): Promise<VerifiedAssertion | AssertionErrorCode>;

  /**
   * Verifies an assertion at registration, where no client can authenticate yet: its `client_id`
   * must be the provider itself, and the person must have signed in within the last hour.
   */
  forRegistration(assertion: string): Promise<VerifiedAssertion | AssertionErrorCode>;

  /**
   * Revokes the grant or agent that an assertion was used for, and audits the replay. To be called
   * when the insertion of `use` was rejected; does nothing if the commit was rejected for another
   * reason.
   * @param actor Client id, or `anonymous`.
   */
  recordReplay(assertion: VerifiedAssertion, actor: string): Promise<void>;
}

/** Options of `createAssertionVerifier`. */
interface AssertionVerifierOptions {
  readonly issuers: readonly TrustedIssuer[];
  /** Required audience of an assertion: the issuer identifier of this server. */
  readonly audience: string;
  readonly records: Records;
  readonly audit: Auditor;
  readonly now: () => Date;
}

/** Maximum age of the person's sign-in at registration, in seconds (auth.md 0.5). */
export const MAX_LOGIN_AGE_SECONDS = 3600;

/**
 * An additional check of the claims, for one endpoint.
 * @param now Seconds since the epoch.
 */
type Rule = (claims: ClaimSet, now: number) => AssertionErrorCode | undefined;

/**
 * The check at registration, where no client is authenticated. An assertion issued to an
 * application could have been stolen and would give the thief an agent of the person, so the
 * assertion must have been issued to the provider itself.
 */
const registrationRule: Rule = ({ client_id, iss, auth_time }, now) => {
  if (client_id !== iss) return "invalid_client_id";
  const age = auth_time === undefined ? Number.POSITIVE_INFINITY : now - auth_time;
  return age > MAX_LOGIN_AGE_SECONDS || age < -CLOCK_SKEW_SECONDS ? "login_required" : undefined;
};

const keyOf = ({ iss, jti }: ClaimSet): string => fingerprint(JSON.stringify([iss, jti]));

/**
 * Converts verified claims. The label contains the provider's name, so that it never equals an
 * email address.
 */
function assertionOf(claims: ClaimSet, { name }: TrustedIssuer, now: number): VerifiedAssertion {
  const { iss, sub, email, scope, resource, exp } = claims;
  // The record expires one minute after the assertion has expired by the slowest tolerated clock.
  const ttlMs = Math.ceil((exp + 2 * CLOCK_SKEW_SECONDS - now) * 1000);
  return {
    subject: { issuer: iss, subject: sub, label: `${email ?? sub} (${name})` },
    scopes: scope === undefined ? undefined : parseScopeNames(scope).filter(isScope),
    resources: resource,
    use: { key: keyOf(claims), ttlMs },
  };
}

/**
 * Revokes the grant or agent of a replayed assertion: one of the two parties that presented it is a
 * thief, as with an authorization code (RFC 6749 section 4.1.2).
 */
async function revokeUse(tx: Transaction, { grantId, clientId }: UsedAssertion): Promise<void> {
  if (grantId !== undefined) await deleteGrantById(tx, grantId);
  if (clientId !== undefined) await deleteAgent(tx, clientId);
}

/**
 * Creates the verifier. Assertions whose issuer is this server are rejected, even if it is listed
 * as trusted.
 */
export function createAssertionVerifier(options: AssertionVerifierOptions): AssertionVerifier {
  const { issuers, audience, records, audit, now } = options;
  const otherIssuers = issuers.filter(({ issuer }) => issuer !== audience);
  const trusted = new Map(otherIssuers.map((each) => [each.issuer, each]));

  const recordIfReplayed = (key: string, actor: string): Promise<boolean> =>
    transact(records, async (tx) => {
      const used = await tx.get(usedAssertions, key);
      if (used === undefined) return false;
      if (used.value.isReplayed) return true;
      tx.update(usedAssertions, used, { value: { isReplayed: true } });
      await revokeUse(tx, used.value);
      audit(tx, { action: "grant.replayed", actor, target: `assertion:${key}` });
      return true;
    });

  const verify = async (assertion: string, actor: string, rule: Rule) => {
    const name = unverifiedIssuer(assertion);
    if (name === undefined) return "invalid_request";
    const issuer = trusted.get(name);
    if (issuer === undefined) return "issuer_not_enabled";
    const at = now();
    const claims = await verifyClaims(assertion, issuer, { audience, now: at });
    if (typeof claims === "string") return claims;

    const seconds = at.getTime() / 1000;
    const fault = rule(claims, seconds);
    if (fault !== undefined) return fault;
    if (await recordIfReplayed(keyOf(claims), actor)) return "replay_detected";
    return assertionOf(claims, issuer, seconds);
  };

  return {
    async recordReplay({ use }, actor) {
      await recordIfReplayed(use.key, actor);
    },
    forRegistration: (assertion) => verify(assertion, "anonymous", registrationRule),
    forClient: (assertion, clientId) =>
      verify(assertion, clientId, ({ client_id }) =>
        client_id === clientId ? undefined : "invalid_client_id",
      ),
  };
}
