import { parseScopeNames } from "../../access/scopes.ts";
import { readAll } from "../../store/port/read-all.ts";
import { collection, type RecordReader, type Stored } from "../../store/port/records.ts";
import { readKept, updateKept } from "../../store/set-aside.ts";
import type { Transaction } from "../../store/transact.ts";
import { accountClientGroup, accountRecordsGroup, clients } from "../agents/agent.ts";
import { deleteAgentDependents } from "./owned-agents.ts";

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

/** Revokes a grant and deletes everything issued under it. */
export async function deleteGrant(tx: Transaction, grant: Stored<GrantRecord>): Promise<void> {
  tx.remove(grants, grant.key);
  await deleteIssuedUnder(tx, grant.key);
  await deleteAfterLastGrant(tx, grant);
}

/** Whether a client can get another grant from a person, and which grant must be revoked for it. */
interface GrantRoom {
  readonly isThere: boolean;
  readonly revoked?: Stored<GrantRecord> | undefined;
}

/**
 * Determines whether a client can get another grant. When the person has `MAX_GRANTS_PER_PERSON`,
 * the client's oldest grant makes room. Grants from assertions do not count, since they expire
 * after an hour.
 */
export async function grantRoom(
  records: RecordReader,
  { accountId = "", clientId }: { readonly [K in "accountId" | "clientId"]?: string | undefined },
): Promise<GrantRoom> {
  const all = await readAll(records, grants, accountRecordsGroup(accountId));
  const consented = all.filter(({ value }) => value.redirectOrigins !== undefined);
  if (consented.length < MAX_GRANTS_PER_PERSON) return { isThere: true };
  const revoked = consented.find(({ value }) => value.clientId === clientId);
  return { isThere: revoked !== undefined, revoked };
}

/**
 * Revokes a grant with every code and token issued under it, even if the grant itself no longer
 * exists.
 */
export async function deleteGrantById(tx: Transaction, grantId: string): Promise<void> {
  const grant = await tx.get(grants, grantId);
  if (grant === undefined) await deleteIssuedUnder(tx, grantId);
  else await deleteGrant(tx, grant);
}

/** Revokes a grant, and deletes everything else that the person has through the client. */
export async function deleteAccess(tx: Transaction, grant: Stored<GrantRecord>): Promise<void> {
  const { accountId = "", clientId = "" } = grant.value;
  tx.remove(grants, grant.key);
  await deleteIssuedUnder(tx, grant.key);
  tx.removeGroup(accountClientGroup(accountId, clientId));
}

/** Deletes the codes, the tokens and the dependent agents of a grant. */
async function deleteIssuedUnder(tx: Transaction, grantId: string): Promise<void> {
  const group = grantGroup(grantId);
  await deleteAgentDependents(tx, group);
  tx.removeGroup(group);
}

/**
 * Removes scopes from the agents that an application claimed under a grant, when the person removes
 * these scopes from the application. Otherwise the application could keep a scope by claiming
 * agents.
 */
export async function narrowClaimedAgents(
  tx: Transaction,
  before: Stored<GrantRecord>,
  after: GrantRecord,
): Promise<void> {
  const left = scopesOfGrant(after);
  const lost = scopesOfGrant(before.value).filter((name) => !left.includes(name));
  if (lost.length === 0) return;
  for (const client of await readKept(tx, clients, grantGroup(before.key))) {
    const { metadata, agent } = client.value;
    if (agent.owner?.through?.grantId !== before.key) continue;
    const scopes = agent.owner.scopes.filter((name) => !lost.includes(name));
    const value = { metadata, agent: { ...agent, owner: { ...agent.owner, scopes } } };
    updateKept(tx, clients, client, value);
  }
}

/**
 * Deletes everything that a person has through a client, such as alerts, if this is the client's
 * last grant from the person.
 */
async function deleteAfterLastGrant(
  tx: Transaction,
  { key, value: { accountId = "", clientId = "" } }: Stored<GrantRecord>,
): Promise<void> {
  const all = await readAll(tx, grants, accountRecordsGroup(accountId));
  const hasOther = all.some((other) => other.key !== key && other.value.clientId === clientId);
  if (!hasOther) tx.removeGroup(accountClientGroup(accountId, clientId));
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
