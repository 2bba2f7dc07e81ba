import { type ClientRecord, heldUnclaimed, isClaimable } from "../agents/agent.ts";
import { type ClaimStart, claimLinks } from "../agents/claims.ts";
import { allScopes, isScope, type Scope, scopeNames } from "../scopes.ts";

/** What the answers about a client are made from. */
export interface AnswerOptions {
  /** Public origin, without a trailing slash. */
  readonly baseUrl: string;
  readonly anonymousScopes: readonly Scope[];
}

const instant = (at: number): string => new Date(at).toISOString();

/** What a client's own tokens may hold before and after a claim. Nobody claims a client without
 *  tokens of its own: it may ask people for what it registered. */
function scopesOf(record: ClientRecord, anonymousScopes: readonly Scope[]) {
  const { metadata, agent } = record;
  const registered = scopeNames(metadata.scope ?? "").filter(isScope);
  if (!isClaimable(record)) return { pre_claim: registered, post_claim: registered };

  const pre_claim = heldUnclaimed(record, anonymousScopes);
  return { pre_claim, post_claim: agent.owner?.scopes ?? allScopes };
}

function claimOf({ agent }: ClientRecord, links: object, start: ClaimStart | undefined) {
  const { owner } = agent;
  if (owner !== undefined) return { status: "claimed", claimed_at: instant(owner.claimedAt) };
  const code = start && { code: start.code, expires_at: instant(start.expiresAt) };
  return { status: "unclaimed", ...code, ...links };
}

/** A client that an answer is about. */
export interface AnsweredClient {
  readonly clientId: string;
  readonly record: ClientRecord;
  /** When its registration ends, in milliseconds since the epoch; `undefined`: never. */
  readonly endsAt: number | undefined;
}

/**
 * The members that an answer about a client has beside those of RFC 7591 section 3.2.1: who it is
 * and how a person can claim it (discovery section 1.7).
 *
 * @param start Said once, in the answer to the registration.
 */
export function identityMembers(
  { clientId, record, endsAt }: AnsweredClient,
  { baseUrl, anonymousScopes }: AnswerOptions,
  start?: ClaimStart,
): Readonly<Record<string, unknown>> {
  const links = claimLinks(baseUrl, clientId);
  return {
    ...(record.metadata.scope === undefined && { scope: "" }),
    // The secret lasts as long as the registration, which is no reason to take 0 for for ever.
    registration_expires_at: endsAt === undefined ? 0 : Math.floor(endsAt / 1000),
    identity_type: record.agent.identityType,
    scopes: scopesOf(record, anonymousScopes),
    ...(isClaimable(record) && { claim: claimOf(record, links, start) }),
  };
}
