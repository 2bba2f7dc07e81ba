import { allScopes, parseScopeNames, type Scope } from "../../access/scopes.ts";
import { DAY_MS } from "../../lib/day.ts";
import type { Outbox } from "../../mail/outbox.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Stored } from "../../store/port/records.ts";
import type { Transaction } from "../../store/transact.ts";
import { type GrantRecord, grantGroup, grants, isGrantGroup } from "../accounts/grants.ts";
import { evictAgents } from "../accounts/owned-agents.ts";
import {
  type ActingApplication,
  type ClientRecord,
  clientGroup,
  clients,
  type Ownership,
  ownedAgentsGroup,
} from "./agent.ts";
import { agentClaims, type Claimer, type OpenClaim } from "./claim-records.ts";
import { groupsWithRegistrationToken } from "./registration-access-token.ts";

/**
 * Lifetime of the notification email, in milliseconds: mail servers retry for 4 to 5 days (RFC 5321
 * section 4.5.4.1).
 */
const NOTICE_TTL_MS = 5 * DAY_MS;

/** Maximum number of agents that a person can claim: as many as a page shows. */
const MAX_CLAIMED = 1_000;

/** Maximum number of agents that an application can claim under one grant. */
const MAX_CLAIMED_THROUGH = 10;

/**
 * The ownership that a claim creates. The agent keeps its scopes and gets the claimer's scopes.
 * Scopes that the agent registered after the page was shown are not included.
 * @param scopesBefore Scopes before the claim.
 */
export function ownershipAfterClaim(
  { accountId, scopes, shown, through }: Claimer,
  scopesBefore: readonly Scope[],
  now: Date,
): Ownership {
  const kept = scopesBefore.filter((scope) => shown?.includes(scope) ?? true);
  const held = allScopes.filter((scope) => kept.includes(scope) || scopes.includes(scope));
  return {
    accountId,
    scopes: held,
    claimedAt: now.getTime(),
    ...(through && { through }),
  };
}

/** The grant and the client through which an application claims for a person. */
export interface ClaimingAccess {
  readonly grant: Stored<GrantRecord>;
  /** The application's registration; `undefined` for a client with a metadata document. */
  readonly application: Stored<ClientRecord> | undefined;
}

/**
 * Reads the grant and client of a claiming application.
 * @returns `undefined` when the application's access has ended.
 */
export async function readClaimingAccess(
  tx: Transaction,
  { clientId, grantId }: ActingApplication,
): Promise<ClaimingAccess | undefined> {
  const [grant, application] = await Promise.all([
    tx.get(grants, grantId),
    tx.get(clients, clientId),
  ]);
  return grant && { grant, application };
}

/**
 * Makes room for the next agent that a person claims. At the maximum, the agents claimed first are
 * deleted. Agents that an application claimed under a grant count toward that grant, not toward the
 * person.
 *
 * @param grantId `undefined` when the person claims the agent on the page.
 */
export async function evictClaimedAgents(
  tx: Transaction,
  { accountId, grantId }: { readonly accountId: string; readonly grantId: string | undefined },
): Promise<void> {
  const group = grantId === undefined ? ownedAgentsGroup(accountId) : grantGroup(grantId);
  const claimed = (await readAll(tx, clients, group))
    .filter(({ value: { agent } }) => {
      const isClaimed = agent.identityType !== "identity_assertion";
      return isClaimed && agent.owner?.through?.grantId === grantId;
    })
    .toSorted(
      (a, b) => (a.value.agent.owner?.claimedAt ?? 0) - (b.value.agent.owner?.claimedAt ?? 0),
    );
  const most = grantId === undefined ? MAX_CLAIMED : MAX_CLAIMED_THROUGH;
  await evictAgents(tx, claimed, most);
}

/** Input of `transferOwnership`. */
interface Completion {
  readonly owner: Ownership;
  /**
   * The claiming application's grant and client; `undefined` when a person claimed the agent on the
   * page.
   */
  readonly access: ClaimingAccess | undefined;
  /** The new registration access token; `undefined` when the agent has none after the claim. */
  readonly registrationToken: string | undefined;
}

/**
 * Gives an agent its owner. Everything issued to the agent earlier is deleted, including its
 * registration access token: otherwise a thief of an old token would gain the rights of the owner.
 */
export function transferOwnership(
  tx: Transaction,
  { client, claim }: OpenClaim,
  { owner, access, registrationToken }: Completion,
): void {
  const { metadata, agent } = client.value;
  const scope = scopeAfter(client, owner).join(" ");
  const bonds = access === undefined ? [] : dependencyGroups(access);
  const held = groupsWithRegistrationToken(registrationToken, client.groups);
  tx.remove(agentClaims, claim.key);
  tx.update(clients, client, {
    value: { metadata: { ...metadata, scope }, agent: { ...agent, owner } },
    groups: [...held, ownedAgentsGroup(owner.accountId), ...bonds],
    ttlMs: access === undefined ? null : accessLifetimeOf(access, owner.claimedAt),
  });
  tx.removeGroup(clientGroup(client.key));
}

/**
 * Groups of an agent that an application claimed. The agent is deleted with the grant, with the
 * application, and with the grants that the application itself depends on. Otherwise an application
 * whose access was revoked could keep access through the agents that it claimed.
 */
function dependencyGroups({ grant, application }: ClaimingAccess): readonly string[] {
  const { clientId } = grant.value;
  const own = [grantGroup(grant.key), ...(clientId === undefined ? [] : [clientGroup(clientId)])];
  return [...new Set([...own, ...(application?.groups.filter(isGrantGroup) ?? [])])];
}

/** Remaining lifetime of an application's access, in milliseconds; `null` if unlimited. */
function accessLifetimeOf({ grant, application }: ClaimingAccess, now: number): number | null {
  const endsAt = Math.min(grant.expiresAt ?? Infinity, application?.expiresAt ?? Infinity);
  return endsAt === Infinity ? null : Math.max(1, endsAt - now);
}

/**
 * The scopes of a client after its claim. A client that also has grant types other than
 * `client_credentials` keeps its registered scopes, which these grant types may request.
 */
function scopeAfter({ value }: Stored<ClientRecord>, owner: Ownership): readonly string[] {
  const { grant_types: types = [], scope = "" } = value.metadata;
  const hasOthers = types.some((type) => type !== "client_credentials");
  return [...new Set([...owner.scopes, ...(hasOthers ? parseScopeNames(scope) : [])])];
}

/**
 * Notifies a person of their new agent. The email omits the agent's name, which is untrusted text.
 */
export function notifyOwner(
  tx: Transaction,
  { mailbox, baseUrl }: { readonly mailbox: Outbox | undefined; readonly baseUrl: string },
  { email, agentId, owner }: ClaimNotice,
): void {
  if (mailbox === undefined || email === undefined) return;
  mailbox.queue(tx, {
    to: email,
    subject: "An agent now acts for you",
    text: [
      `The agent ${agentId} was claimed with your account at ${baseUrl}.`,
      `It may use: ${owner.scopes.join(", ") || "nothing"}.`,
      "",
      `If that was not you, remove the agent at ${baseUrl}/account`,
    ].join("\n"),
    ttlMs: NOTICE_TTL_MS,
  });
}

/** Input of `notifyOwner`. */
interface ClaimNotice {
  /** Email address of the owner; absent for people who sign in only with an identity provider. */
  readonly email: string | undefined;
  readonly agentId: string;
  readonly owner: Ownership;
}
