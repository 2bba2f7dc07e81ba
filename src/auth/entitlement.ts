import type { Caller } from "../access/caller.ts";
import { alertScopes, allScopes, isScope, parseScopeNames, type Scope } from "../access/scopes.ts";
import { accounts } from "../principals/accounts/accounts.ts";
import { grants, scopesOfGrant } from "../principals/accounts/grants.ts";
import { accountRecordsGroup, clients } from "../principals/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../principals/keys/api-keys.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Collection, RecordReader } from "../store/port/records.ts";
import { findKept, readKept } from "../store/set-aside.ts";
import { hasMetadataDocument } from "./oidc/metadata-documents.ts";
import { clientScopeCeiling } from "./oidc/resource-indicators.ts";

/** An owner of alerts. */
interface EntitledOwner {
  readonly kind: Caller["kind"];
  /** Id of the owner, as in `Caller.id`. */
  readonly id: string;
  /** The client that acts for a person; absent for the person themselves. */
  readonly clientId?: string | undefined;
}

/**
 * The current scopes of an alert owner, limited to the scopes that the client is registered for:
 * the most that its tokens could have. Empty when the owner has expired or was deleted, and when a
 * client no longer has a grant from the person for whom it created the alerts.
 */
export async function currentScopesOf(
  records: RecordReader,
  owner: EntitledOwner,
): Promise<ReadonlySet<Scope>> {
  return new Set((await scopesOf(records, owner)).filter(isScope));
}

/** Whether the scopes are sufficient to receive the events of alerts. */
export const isEntitledToEvents = (held: ReadonlySet<Scope>): boolean =>
  alertScopes.every((scope) => held.has(scope));

/**
 * Whether an alert owner still exists, regardless of its scopes. An owner that the operator has
 * disabled does: it can come back.
 */
export async function ownerExists(
  records: RecordReader,
  { kind, id, clientId }: EntitledOwner,
): Promise<boolean> {
  const isKept = async (of: Collection<unknown>, key: string) =>
    (await findKept(records, of, key)) !== undefined;
  switch (kind) {
    case "agent":
      return isKept(clients, id);
    case "user": {
      const isRegistered =
        clientId === undefined ||
        hasMetadataDocument(clientId) ||
        (await isKept(clients, clientId));
      return isRegistered && isKept(accounts, id);
    }
    case "service":
      return (await readKept(records, apiKeys, apiKeyGroup(id))).length > 0;
  }
}

/**
 * The owner whose share of the account's quotas an action uses. For an agent that an application
 * claimed, this is the application: otherwise the application could claim agents to use up the
 * quotas of the person's other clients.
 */
export async function quotaOwner(
  records: RecordReader,
  owner: EntitledOwner & { readonly accountId: string | undefined },
): Promise<EntitledOwner> {
  const { kind, id, accountId } = owner;
  if (kind !== "agent" || accountId === undefined) return owner;
  const application = (await findKept(records, clients, id))?.value.agent.owner?.through;
  return application === undefined
    ? owner
    : { kind: "user", id: accountId, clientId: application.clientId };
}

async function scopesOf(records: RecordReader, owner: EntitledOwner): Promise<readonly string[]> {
  switch (owner.kind) {
    case "agent": {
      const client = await records.get(clients, owner.id);
      return client === undefined ? [] : clientScopeCeiling(client.value, []);
    }
    case "user":
      return owner.clientId === undefined
        ? scopesOfPerson(records, owner)
        : scopesByGrants(records, { ...owner, clientId: owner.clientId });
    case "service": {
      const [key] = await records.list(apiKeys, { group: apiKeyGroup(owner.id), limit: 1 });
      return key === undefined ? [] : key.value.scopes;
    }
  }
}

/** A person without a client has every scope, while the account exists. */
async function scopesOfPerson(
  records: RecordReader,
  { id }: EntitledOwner,
): Promise<readonly string[]> {
  return (await records.get(accounts, id)) === undefined ? [] : allScopes;
}

/**
 * A person's client has the scopes of all grants that the person gave it, while the grants and the
 * client exist.
 */
async function scopesByGrants(
  records: RecordReader,
  { id, clientId }: EntitledOwner & { readonly clientId: string },
): Promise<readonly string[]> {
  const [account, all, registered] = await Promise.all([
    records.get(accounts, id),
    readAll(records, grants, accountRecordsGroup(id)),
    registeredScopes(records, clientId),
  ]);
  if (account === undefined) return [];
  return all
    .filter(({ value }) => value.clientId === clientId)
    .flatMap(({ value }) => scopesOfGrant(value))
    .filter((scope) => registered.includes(scope));
}

/**
 * The scopes that a client is registered for: all scopes for a client with a metadata document,
 * none for a client that was deleted.
 */
async function registeredScopes(
  records: RecordReader,
  clientId: string,
): Promise<readonly string[]> {
  if (hasMetadataDocument(clientId)) return allScopes;
  const client = await records.get(clients, clientId);
  return client === undefined ? [] : parseScopeNames(client.value.metadata.scope ?? "");
}
