import { fingerprint } from "../../lib/fingerprint.ts";
import { remove, removeGroup, replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records } from "../../store/port/records.ts";
import type { UpstreamSubject } from "../accounts/accounts.ts";
import { grantRevocationById } from "../accounts/grants.ts";
import { dependentAgentsRemoval } from "../accounts/owned-agents.ts";
import { clientGroup, clients } from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import { lastUseRemoval } from "../last-use.ts";
import { isScope, type Scope, scopeNames } from "../scopes.ts";
import {
  type ClaimSet,
  issuerNamedBy,
  type Refusal,
  SKEW_SECONDS,
  signedClaims,
} from "./assertion-claims.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/** What an assertion was used for: the grant of the token that it was exchanged for, or the
 *  agent that was registered with it. Records of earlier versions do not say. */
type UsedAssertion = Readonly<Partial<Record<"grantId" | "clientId", string>>> & {
  /** Whether it came again: what it was used for has ended, and the audit has a row. */
  readonly isReplayed?: true;
};

/** Assertions that were used, by the hash of their `iss` and `jti`. */
export const usedAssertions = collection<UsedAssertion>("assertions:used");

/** A valid assertion. It counts once: its use must be inserted into `usedAssertions` in the same
 *  commit. */
export interface Assertion {
  readonly subject: UpstreamSubject;
  /** The scopes it allows; `undefined` when it does not limit them. */
  readonly scopes: readonly Scope[] | undefined;
  /** The resources it allows (RFC 8707); `undefined` when it does not limit them. */
  readonly resources: readonly string[] | undefined;
  /** Where it is inserted; does not hold when it was used before. */
  readonly use: { readonly key: string; readonly ttlMs: number };
}

/** Verifies identity assertions (ID-JAG). */
export interface AssertionVerifier {
  /** At the token endpoint: it must have been issued to the client that presents it. */
  forClient(assertion: string, clientId: string): Promise<Assertion | Refusal>;

  /** At registration, where there is no client yet that could prove who it is: it must name the provider
   *  itself, and the person must have signed in within the last hour. */
  forRegistration(assertion: string): Promise<Assertion | Refusal>;

  /** Revokes what an assertion was used for before, and audits the refused use, after its
   *  insertion conflicted; does nothing when the conflict had another reason. @param actor Id of
   *  the client, or `anonymous`. */
  recordReplay(assertion: Assertion, actor: string): Promise<void>;
}

/** What assertions are verified with. */
interface AssertionVerifierOptions {
  readonly issuers: readonly TrustedIssuer[];
  /** The issuer identifier of this server. */
  readonly audience: string;
  readonly records: Records;
  readonly audit: Auditor;
  readonly now: () => Date;
}

/** How long ago a person may have signed in at most, in seconds (auth.md 0.5). */
export const MAX_LOGIN_AGE_SECONDS = 3600;

/** What is wrong with claims at the place where they are presented; time in seconds. */
type Rule = (claims: ClaimSet, now: number) => Refusal | undefined;

/** Here nobody proves to be the client that an assertion names. An assertion issued to an
 *  application must not turn a finder into an agent of the person, so it must be the provider's
 *  own. */
const registrationRule: Rule = ({ client_id, iss, auth_time }, now) => {
  if (client_id !== iss) return "invalid_client_id";
  const age = auth_time === undefined ? Number.POSITIVE_INFINITY : now - auth_time;
  return age > MAX_LOGIN_AGE_SECONDS || age < -SKEW_SECONDS ? "login_required" : undefined;
};

const keyOf = ({ iss, jti }: ClaimSet): string => fingerprint(JSON.stringify([iss, jti]));

/** The provider's name is in the label, so that no account looks like one that an address made. */
function assertionOf(claims: ClaimSet, { name }: TrustedIssuer, now: number): Assertion {
  const { iss, sub, email, scope, resource, exp } = claims;
  // A minute longer than the last clock calls the assertion good.
  const ttlMs = Math.ceil((exp + 2 * SKEW_SECONDS - now) * 1000);
  return {
    subject: { issuer: iss, subject: sub, label: `${email ?? sub} (${name})` },
    scopes: scope === undefined ? undefined : scopeNames(scope).filter(isScope),
    resources: resource,
    use: { key: keyOf(claims), ttlMs },
  };
}

/** The steps that revoke what an assertion was used for: one of the two who presented it is a
 *  thief, as with an authorization code (RFC 6749 section 4.1.2). */
async function revocationOfUse(
  records: Pick<Records, "get" | "list">,
  { grantId, clientId }: UsedAssertion,
): Promise<readonly Operation[]> {
  const agent =
    clientId === undefined
      ? []
      : [
          ...(await dependentAgentsRemoval(records, clientGroup(clientId))),
          remove(clients, clientId),
          removeGroup(clientGroup(clientId)),
          lastUseRemoval(clientId),
        ];
  return [...(await grantRevocationById(records, grantId)), ...agent];
}

/**
 * Creates the verifier. This server never believes itself, whatever the list
 * says.
 */
export function createAssertionVerifier(options: AssertionVerifierOptions): AssertionVerifier {
  const { issuers, audience, records, audit, now } = options;
  const others = issuers.filter(({ issuer }) => issuer !== audience);
  const trusted = new Map(others.map((each) => [each.issuer, each]));

  const isReplayed = async (key: string, actor: string): Promise<boolean> => {
    for (;;) {
      const used = await records.get(usedAssertions, key);
      if (used === undefined) return false;
      if (used.value.isReplayed) return true;
      const entry = { action: "grant.replayed", actor, target: `assertion:${key}` };
      const ended = await records.commit([
        replace(usedAssertions, used, { value: { isReplayed: true } }),
        ...(await revocationOfUse(records, used.value)),
        ...audit(entry),
      ]);
      if (ended) return true;
    }
  };

  const verify = async (assertion: string, actor: string, rule: Rule) => {
    const name = issuerNamedBy(assertion);
    if (name === undefined) return "invalid_request";
    const issuer = trusted.get(name);
    if (issuer === undefined) return "issuer_not_enabled";
    const at = now();
    const claims = await signedClaims(assertion, issuer, { audience, now: at });
    if (typeof claims === "string") return claims;

    const seconds = at.getTime() / 1000;
    const fault = rule(claims, seconds);
    if (fault !== undefined) return fault;
    if (await isReplayed(keyOf(claims), actor)) return "replay_detected";
    return assertionOf(claims, issuer, seconds);
  };

  return {
    async recordReplay({ use }, actor) {
      await isReplayed(use.key, actor);
    },
    forRegistration: (assertion) => verify(assertion, "anonymous", registrationRule),
    forClient: (assertion, clientId) =>
      verify(assertion, clientId, ({ client_id }) =>
        client_id === clientId ? undefined : "invalid_client_id",
      ),
  };
}
