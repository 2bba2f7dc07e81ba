import { remove, removeAt, removeGroup, replace } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import { accountClientGroup, accountRecordsGroup, clients } from "../agents/agent.ts";
import { scopeNames } from "../scopes.ts";
import { dependentAgentsRemoval } from "./owned-agents.ts";

/** Scopes of each resource and of the ID token; names separated by spaces. */
interface GrantedScopes {
  readonly resources?: Readonly<Record<string, string>>;
  readonly openid?: { readonly scope?: string };
}

/** A person's authorization of a client, as oidc-provider stores it (its model `Grant`). */
export interface GrantRecord extends GrantedScopes {
  readonly accountId?: string;
  readonly clientId?: string;
  /** Seconds since the epoch. */
  readonly iat?: number;
  /** Scopes that the person denied. */
  readonly rejected?: GrantedScopes;
  /** Origins of redirect URIs that the person approved (`redirectOrigin`). Grants from before this
   *  field was stored lack it, so people are asked again. */
  readonly redirectOrigins?: readonly string[];
  /** Whether the last consent page mentioned offline access, which allows the client refresh
   *  tokens. Grants from before this field was stored lack it, so people are asked again. */
  readonly isLasting?: boolean;
}

/** Grants by id. */
export const grants = collection<GrantRecord>("oidc:Grant");

/** Maximum number of grants by consent that a person can have, over all applications. */
export const MAX_GRANTS = 100;

const UNDER_GRANT = "grant:";

/** Group of everything that depends on a grant: codes and tokens issued under it, and agents that
 *  its application claimed with it. */
export const grantGroup = (grantId: string): string => `${UNDER_GRANT}${grantId}`;

/** Whether a group is a `grantGroup`. */
export const isGrantGroup = (group: string): boolean => group.startsWith(UNDER_GRANT);

/** The steps that revoke a grant and everything issued under it. */
export async function grantRevocation(
  records: Records,
  grant: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  return [
    removeAt(grants, grant),
    ...(await issuedUnderRemoval(records, grant.key)),
    ...(await lastGrantRemoval(records, grant)),
  ];
}

/**
 * The steps that make room for a client's next grant. When the person has `MAX_GRANTS`, the
 * client's oldest grant is revoked. Grants from assertions do not count, since they expire after an
 * hour.
 *
 * @returns `undefined` when the limit is reached and the client has no grant to revoke.
 */
export async function grantEviction(
  records: Records,
  { accountId = "", clientId }: { readonly [K in "accountId" | "clientId"]?: string | undefined },
): Promise<readonly Operation[] | undefined> {
  const all = await readAll(records, grants, accountRecordsGroup(accountId));
  const consented = all.filter(({ value }) => value.redirectOrigins !== undefined);
  if (consented.length < MAX_GRANTS) return [];
  const oldest = consented.find(({ value }) => value.clientId === clientId);
  return oldest && grantRevocation(records, oldest);
}

/** The steps that revoke a grant with every code and token issued under it, even if the grant
 *  itself no longer exists. @param grantId `undefined` returns no steps. */
export async function grantRevocationById(
  records: Records,
  grantId: string | undefined,
): Promise<readonly Operation[]> {
  if (grantId === undefined) return [];
  const grant = await records.get(grants, grantId);
  return [
    remove(grants, grantId),
    ...(await issuedUnderRemoval(records, grantId)),
    ...(grant === undefined ? [] : await lastGrantRemoval(records, grant)),
  ];
}

/** The steps that revoke a grant and everything else that the person has through the client. */
export async function accessRevocation(
  records: Records,
  grant: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  const { accountId = "", clientId = "" } = grant.value;
  return [
    removeAt(grants, grant),
    ...(await issuedUnderRemoval(records, grant.key)),
    removeGroup(accountClientGroup(accountId, clientId)),
  ];
}

/** The steps that delete the codes and tokens of a grant, and the agents that depend on it. */
async function issuedUnderRemoval(
  records: Records,
  grantId: string,
): Promise<readonly Operation[]> {
  const group = grantGroup(grantId);
  return [...(await dependentAgentsRemoval(records, group)), removeGroup(group)];
}

/** The steps that remove scopes from the agents that an application claimed under a grant, when the
 *  person removes these scopes from the application. Otherwise the application would keep a scope
 *  by claiming agents. */
export async function agentsNarrowing(
  records: Records,
  before: Stored<GrantRecord>,
  after: GrantRecord,
): Promise<readonly Operation[]> {
  const left = allowedScopes(after);
  const lost = allowedScopes(before.value).filter((name) => !left.includes(name));
  if (lost.length === 0) return [];
  const agents = await readAll(records, clients, grantGroup(before.key));
  return agents.flatMap((client) => {
    const { metadata, agent } = client.value;
    if (agent.owner?.through?.grantId !== before.key) return [];
    const scopes = agent.owner.scopes.filter((name) => !lost.includes(name));
    const value = { metadata, agent: { ...agent, owner: { ...agent.owner, scopes } } };
    return [replace(clients, client, { value })];
  });
}

/** The steps that delete what a person has through a client, such as alerts, if this is the
 *  client's last grant from the person. */
async function lastGrantRemoval(
  records: Records,
  { key, value: { accountId = "", clientId = "" } }: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  const all = await readAll(records, grants, accountRecordsGroup(accountId));
  const hasOther = all.some((other) => other.key !== key && other.value.clientId === clientId);
  return hasOther ? [] : [removeGroup(accountClientGroup(accountId, clientId))];
}

/** The names of the scopes that a grant allows for any resource, without duplicates. */
export function allowedScopes(grant: GrantRecord): readonly string[] {
  const { resources = {}, openid, rejected } = grant;
  const ofResources = Object.entries(resources).flatMap(([resource, scopes]) =>
    without(scopes, rejected?.resources?.[resource]),
  );
  return [...new Set([...without(openid?.scope, rejected?.openid?.scope), ...ofResources])];
}

/** The names of the scopes that a grant allows for one resource. */
export function scopesForResource({ resources, rejected }: GrantRecord, resource: string) {
  return without(resources?.[resource], rejected?.resources?.[resource]);
}

function without(allowed = "", rejected = ""): readonly string[] {
  const refused = scopeNames(rejected);
  return scopeNames(allowed).filter((name) => !refused.includes(name));
}
