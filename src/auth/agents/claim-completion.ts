import type { Mailbox } from "../../mail/mail.ts";
import { removeAt, removeGroup, replace } from "../../store/operations.ts";
import type { Operation, Stored } from "../../store/records.ts";
import { allScopes, scopeNames } from "../scopes.ts";
import { type ClientRecord, claimedBy, clients, issuedTo, type Ownership } from "./agent.ts";
import { claims, type OpenClaim } from "./claim-records.ts";
import type { Claimer } from "./claims.ts";

/** A notice that comes later than mail servers try for is none, in milliseconds (RFC 5321 section
 *  4.5.4.1: 4 to 5 days). */
const NOTICE_USEFUL_MS = 5 * 86_400_000;

/** What somebody answers for from now on. */
export function ownership({ accountId, scopes: granted }: Claimer, now: Date): Ownership {
  const held = allScopes.filter((scope) => granted.includes(scope));
  return { accountId, scopes: held, claimedAt: now.getTime() };
}

/** The steps that give an agent its owner. Whatever was issued to it before goes, since whoever took
 *  it from the agent would come to more rights (discovery section 1.4). */
export function completedClaim(
  { client, claim }: OpenClaim,
  owner: Ownership,
): readonly Operation[] {
  const { metadata, agent } = client.value;
  const scope = scopeAfter(client, owner).join(" ");
  return [
    removeAt(claims, claim),
    replace(clients, client, {
      value: { metadata: { ...metadata, scope }, agent: { ...agent, owner } },
      groups: [...client.groups, claimedBy(owner.accountId)],
      ttlMs: null,
    }),
    removeGroup(issuedTo(client.key)),
  ];
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
