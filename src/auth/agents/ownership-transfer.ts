import type { Mailbox } from "../../mail/outbox.ts";
import { removeAt, removeGroup, replace, unchanged } from "../../store/port/operations.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { type GrantRecord, grants, isUnderGrant, underGrant } from "../accounts/grants.ts";
import { allScopes, type Scope, scopeNames } from "../scopes.ts";
import {
  type ActingApplication,
  type ClientRecord,
  claimedBy,
  clients,
  issuedTo,
  type Ownership,
} from "./agent.ts";
import type { Claimer } from "./claim-records.ts";
import { claims, type OpenClaim } from "./claim-records.ts";

import { heldWith } from "./registration-access-token.ts";

/** A notice that comes later than mail servers try for is none, in milliseconds (RFC 5321 section
 *  4.5.4.1: 4 to 5 days). */
const NOTICE_USEFUL_MS = 5 * 86_400_000;

/** What somebody answers for from now on: what the agent had anyway, so that a claim takes nothing from
 *  it, and what they give it. @param had What it held while nobody answered for it. */
export function ownership(
  { accountId, scopes, through }: Claimer,
  had: readonly Scope[],
  now: Date,
): Ownership {
  const held = allScopes.filter((scope) => had.includes(scope) || scopes.includes(scope));
  return { accountId, scopes: held, claimedAt: now.getTime(), ...(through && { through }) };
}

/** What lets an application claim for a person. */
export interface ClaimingAccess {
  readonly grant: Stored<GrantRecord>;
  /** `undefined` for one that came by a document. */
  readonly application: Stored<ClientRecord> | undefined;
}

/** Reads what lets an application claim. @returns `undefined` when its access has ended. */
export async function claimingAccess(
  records: Records,
  { clientId, grantId }: ActingApplication,
): Promise<ClaimingAccess | undefined> {
  const [grant, application] = await Promise.all([
    records.get(grants, grantId),
    records.get(clients, clientId),
  ]);
  return grant && { grant, application };
}

/** What a completed claim leads to. */
interface Completion {
  readonly owner: Ownership;
  /** Absent: a person claimed the agent on the page. */
  readonly access: ClaimingAccess | undefined;
  /** The new registration access token; absent: from now on there is none. */
  readonly registrationToken: string | undefined;
}

/** The steps that give an agent its owner. Whatever was issued to it before goes, its registration
 *  access token too, since whoever took it from the agent would come to more rights (discovery
 *  section 1.4). */
export function completedClaim(
  { client, claim }: OpenClaim,
  { owner, access, registrationToken }: Completion,
): readonly Operation[] {
  const { metadata, agent } = client.value;
  const scope = scopeAfter(client, owner).join(" ");
  const bonds = access === undefined ? [] : groupsOf(access);
  const held = heldWith(registrationToken, client.groups);
  return [
    removeAt(claims, claim),
    ...(access === undefined ? [] : [unchanged(grants, access.grant)]),
    replace(clients, client, {
      value: { metadata: { ...metadata, scope }, agent: { ...agent, owner } },
      groups: [...held, claimedBy(owner.accountId), ...bonds],
      ttlMs: access === undefined ? null : lifeOf(access, owner.claimedAt),
    }),
    removeGroup(issuedTo(client.key)),
  ];
}

/** Groups of an agent that an application claimed. It goes with the grant, with the application, and
 *  with the grants on which the application hangs itself: no application outlives what a person
 *  allowed it by claiming agents. */
function groupsOf({ grant, application }: ClaimingAccess): readonly string[] {
  const { clientId } = grant.value;
  const own = [underGrant(grant.key), ...(clientId === undefined ? [] : [issuedTo(clientId)])];
  return [...new Set([...own, ...(application?.groups.filter(isUnderGrant) ?? [])])];
}

/** Life of an agent that an application claimed, in milliseconds: as long as the access has left. */
function lifeOf({ grant, application }: ClaimingAccess, now: number): number | null {
  const endsAt = Math.min(grant.expiresAt ?? Infinity, application?.expiresAt ?? Infinity);
  return endsAt === Infinity ? null : Math.max(1, endsAt - now);
}

/** A client with other grants keeps what it may ask for with those; what its own tokens may hold
 *  stands with the owner. */
function scopeAfter({ value }: Stored<ClientRecord>, owner: Ownership): readonly string[] {
  const { grant_types: types = [], scope = "" } = value.metadata;
  const hasOthers = types.some((type) => type !== "client_credentials");
  return [...new Set([...owner.scopes, ...(hasOthers ? scopeNames(scope) : [])])];
}

/** The steps that tell a person which agent acts for them now. The name that the agent gave itself
 *  is left out: it would put a stranger's words into the service's mail. */
export function claimNotice(
  { mailbox, baseUrl }: { readonly mailbox: Mailbox | undefined; readonly baseUrl: string },
  { email, agentId, owner }: ClaimNotice,
): readonly Operation[] {
  if (mailbox === undefined || email === undefined) return [];
  return mailbox.queued({
    to: email,
    subject: "An agent now acts for you",
    text: [
      `The agent ${agentId} was claimed with your account at ${baseUrl}.`,
      `It may use: ${owner.scopes.join(", ") || "nothing"}.`,
      "",
      `If that was not you, remove the agent at ${baseUrl}/account`,
    ].join("\n"),
    usefulMs: NOTICE_USEFUL_MS,
  });
}

/** Who is told of which agent. */
interface ClaimNotice {
  /** Absent for people who only come by an identity provider. */
  readonly email: string | undefined;
  readonly agentId: string;
  readonly owner: Ownership;
}
