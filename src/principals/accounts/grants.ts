import { parseScopeNames } from "../../access/scopes.ts";
import { remove, removeGroup, removeUnchanged } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import { readKept, replaceKept } from "../../store/set-aside.ts";
import { accountClientGroup, accountRecordsGroup, clients } from "../agents/agent.ts";
import { agentDependentsRemovalOperations } from "./owned-agents.ts";

/** Scopes of each resource and of the ID token, as scope names separated by spaces. */
interface GrantedScopes {
  readonly resources?: Readonly<Record<string, string>>;
  readonly openid?: { readonly scope?: string };
}

/** A person's authorization of a client, as oidc-provider stores it (model `Grant`). */
export interface GrantRecord extends GrantedScopes {
  readonly accountId?: string;
  readonly clientId?: string;
  /** Issue time in seconds since the epoch. */
  readonly iat?: number;
  /** Scopes that the person denied. */
  readonly rejected?: GrantedScopes;
  /**
   * Origins of redirect URIs that the person approved (`redirectOrigin`). Grants stored before this
   * field existed lack it, so the person must consent again.
   */
  readonly redirectOrigins?: readonly string[];
  /**
   * Whether the last consent page mentioned offline access, which lets the client get refresh
   * tokens. Grants stored before this field existed lack it, so the person must consent again.
   */
  readonly isLasting?: boolean;
}

/** Grants by grant id. */
export const grants = collection<GrantRecord>("oidc:Grant");

/**
 * Maximum number of grants per person, across all applications; grants from assertions do not
 * count.
 */
export const MAX_GRANTS_PER_PERSON = 100;

const UNDER_GRANT = "grant:";

/**
 * Group of everything that depends on a grant: codes and tokens issued under it, and agents that
 * the application claimed under it.
 */
export const grantGroup = (grantId: string): string => `${UNDER_GRANT}${grantId}`;

/** Whether a store group is the group of a grant (`grantGroup`). */
export const isGrantGroup = (group: string): boolean => group.startsWith(UNDER_GRANT);

/** The operations that revoke a grant and delete everything issued under it. */
export async function grantRevocationOperations(
  records: Records,
  grant: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  return [
    removeUnchanged(grants, grant),
    ...(await issuedUnderRemoval(records, grant.key)),
    ...(await lastGrantRemoval(records, grant)),
  ];
}

/**
 * The operations that make room for a client's next grant. When the person has
 * `MAX_GRANTS_PER_PERSON`, the client's oldest grant is revoked. Grants from assertions do not
 * count, since they expire after an hour.
 *
 * @returns `undefined` when the limit is reached and the client has no grant to revoke.
 */
export async function grantEvictionOperations(
  records: Records,
  { accountId = "", clientId }: { readonly [K in "accountId" | "clientId"]?: string | undefined },
): Promise<readonly Operation[] | undefined> {
  const all = await readAll(records, grants, accountRecordsGroup(accountId));
  const consented = all.filter(({ value }) => value.redirectOrigins !== undefined);
  if (consented.length < MAX_GRANTS_PER_PERSON) return [];
  const oldest = consented.find(({ value }) => value.clientId === clientId);
  return oldest && grantRevocationOperations(records, oldest);
}

/**
 * The operations that revoke a grant with every code and token issued under it, even if the grant
 * itself no longer exists.
 * @param grantId If `undefined`, there are no operations.
 */
export async function grantRevocationOperationsById(
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

/**
 * The operations that revoke a grant, and delete everything else that the person has through the
 * client.
 */
export async function accessRevocationOperations(
  records: Records,
  grant: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  const { accountId = "", clientId = "" } = grant.value;
  return [
    removeUnchanged(grants, grant),
    ...(await issuedUnderRemoval(records, grant.key)),
    removeGroup(accountClientGroup(accountId, clientId)),
  ];
}

/** The operations that delete the codes, the tokens and the dependent agents of a grant. */
async function issuedUnderRemoval(
  records: Records,
  grantId: string,
): Promise<readonly Operation[]> {
  const group = grantGroup(grantId);
  return [...(await agentDependentsRemovalOperations(records, group)), removeGroup(group)];
}

/**
 * The operations that remove scopes from the agents that an application claimed under a grant, when
 * the person removes these scopes from the application. Otherwise the application could keep a
 * scope by claiming agents.
 */
export async function claimedAgentsNarrowingOperations(
  records: Records,
  before: Stored<GrantRecord>,
  after: GrantRecord,
): Promise<readonly Operation[]> {
  const left = scopesOfGrant(after);
  const lost = scopesOfGrant(before.value).filter((name) => !left.includes(name));
  if (lost.length === 0) return [];
  const agents = await readKept(records, clients, grantGroup(before.key));
  return agents.flatMap((client) => {
    const { metadata, agent } = client.value;
    if (agent.owner?.through?.grantId !== before.key) return [];
    const scopes = agent.owner.scopes.filter((name) => !lost.includes(name));
    const value = { metadata, agent: { ...agent, owner: { ...agent.owner, scopes } } };
    return [replaceKept(clients, client, value)];
  });
}

/**
 * The operations that delete everything that a person has through a client, such as alerts, if this
 * is the client's last grant from the person.
 */
async function lastGrantRemoval(
  records: Records,
  { key, value: { accountId = "", clientId = "" } }: Stored<GrantRecord>,
): Promise<readonly Operation[]> {
  const all = await readAll(records, grants, accountRecordsGroup(accountId));
  const hasOther = all.some((other) => other.key !== key && other.value.clientId === clientId);
  return hasOther ? [] : [removeGroup(accountClientGroup(accountId, clientId))];
}

/** The scopes that a grant allows for any resource, without duplicates. */
export function scopesOfGrant(grant: GrantRecord): readonly string[] {
  const { resources = {}, openid, rejected } = grant;
  const ofResources = Object.entries(resources).flatMap(([resource, scopes]) =>
    without(scopes, rejected?.resources?.[resource]),
  );
  return [...new Set([...without(openid?.scope, rejected?.openid?.scope), ...ofResources])];
}

/** The scopes that a grant allows for one resource. */
export function scopesForResource({ resources, rejected }: GrantRecord, resource: string) {
  return without(resources?.[resource], rejected?.resources?.[resource]);
}

function without(allowed = "", rejected = ""): readonly string[] {
  const refused = parseScopeNames(rejected);
  return parseScopeNames(allowed).filter((name) => !refused.includes(name));
}
