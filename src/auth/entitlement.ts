import type { Caller } from "../access/caller.ts";
import { alertScopes, allScopes, isScope, parseScopeNames, type Scope } from "../access/scopes.ts";
import { accounts } from "../principals/accounts/accounts.ts";
import { grants, scopesOfGrant } from "../principals/accounts/grants.ts";
import { accountRecordsGroup, clients } from "../principals/agents/agent.ts";
import { apiKeyGroup, apiKeys } from "../principals/keys/api-keys.ts";
import { requireUnchanged } from "../store/port/operations.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Collection, Operation, Records } from "../store/port/records.ts";
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

/** Current rights of an alert owner, determined without a credential. */
interface Rights {
  readonly scopes: ReadonlySet<Scope>;
  /** Operations that reject a commit if the rights have changed. */
  readonly checks: readonly Operation[];
}

const NO_RIGHTS: Rights = { scopes: new Set(), checks: [] };

/**
 * The current scopes of an alert owner, limited to the scopes that the client is registered for:
 * the most that its tokens could have. Empty when the owner has expired or was deleted, and when a
 * client no longer has a grant from the person for whom it created the alerts.
 */
export async function currentScopesOf(
  records: Records,
  owner: EntitledOwner,
): Promise<ReadonlySet<Scope>> {
  return (await rightsOf(records, owner)).scopes;
}

/** Whether the scopes are sufficient to receive the events of alerts. */
export const isEntitledToEvents = (held: ReadonlySet<Scope>): boolean =>
  alertScopes.every((scope) => held.has(scope));

/**
 * The operations that reject a commit if the owner loses the right to have alerts. Without them, an
 * alert could be created for an owner that is deleted concurrently, and would never be deleted.
 *
 * @returns `undefined` when the owner may not have alerts.
 */
export async function entitlementCheckOperations(
  records: Records,
  owner: EntitledOwner,
): Promise<readonly Operation[] | undefined> {
  const { scopes, checks } = await rightsOf(records, owner);
  return isEntitledToEvents(scopes) ? checks : undefined;
}

/**
 * Whether an alert owner still exists, regardless of its scopes. An owner that the operator has
 * disabled does: it can come back.
 */
export async function ownerExists(
  records: Records,
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
  records: Records,
  owner: EntitledOwner & { readonly accountId: string | undefined },
): Promise<EntitledOwner> {
  const { kind, id, accountId } = owner;
  if (kind !== "agent" || accountId === undefined) return owner;
  const application = (await findKept(records, clients, id))?.value.agent.owner?.through;
  return application === undefined
    ? owner
    : { kind: "user", id: accountId, clientId: application.clientId };
}

async function rightsOf(records: Records, owner: EntitledOwner): Promise<Rights> {
  switch (owner.kind) {
    case "agent": {
      const client = await records.get(clients, owner.id);
      return client
        ? rights(clientScopeCeiling(client.value, []), [requireUnchanged(clients, client)])
        : NO_RIGHTS;
    }
    case "user":
      return owner.clientId === undefined
        ? rightsOfPerson(records, owner)
        : rightsByGrants(records, { ...owner, clientId: owner.clientId });
    case "service": {
      const [key] = await records.list(apiKeys, { group: apiKeyGroup(owner.id), limit: 1 });
      return key ? rights(key.value.scopes, [requireUnchanged(apiKeys, key)]) : NO_RIGHTS;
    }
  }
}

/** The rights of a person without a client: every scope, while the account exists. */
async function rightsOfPerson(records: Records, { id }: EntitledOwner): Promise<Rights> {
  const account = await records.get(accounts, id);
  return account ? rights(allScopes, [requireUnchanged(accounts, account)]) : NO_RIGHTS;
}

/**
 * The rights of a person's client: the scopes of all grants that the person gave it, while the
 * grants and the client exist.
 */
async function rightsByGrants(
  records: Records,
  { id, clientId }: EntitledOwner & { readonly clientId: string },
): Promise<Rights> {
  const [account, all, registered] = await Promise.all([
    records.get(accounts, id),
    readAll(records, grants, accountRecordsGroup(id)),
    registrationOf(records, clientId),
  ]);
  if (account === undefined || registered === undefined) return NO_RIGHTS;
  const own = all.filter(({ value }) => value.clientId === clientId);
  return rights(
    own
      .flatMap(({ value }) => scopesOfGrant(value))
      .filter((scope) => registered.scopes.includes(scope)),
    [
      requireUnchanged(accounts, account),
      ...registered.checks,
      ...own.map((grant) => requireUnchanged(grants, grant)),
    ],
  );
}

/** The scopes that a client is registered for. */
interface Registration {
  readonly scopes: readonly string[];
  /** Operations that reject a commit if the client has changed. */
  readonly checks: readonly Operation[];
}

/**
 * Reads the scopes that a client is registered for: all scopes for a client with a metadata
 * document.
 * @returns `undefined` when the client was deleted.
 */
async function registrationOf(
  records: Records,
  clientId: string,
): Promise<Registration | undefined> {
  if (hasMetadataDocument(clientId)) return { scopes: allScopes, checks: [] };
  const client = await records.get(clients, clientId);
  if (client === undefined) return undefined;
  const scopes = parseScopeNames(client.value.metadata.scope ?? "");
  return { scopes, checks: [requireUnchanged(clients, client)] };
}

const rights = (scopes: readonly string[], checks: readonly Operation[]): Rights => ({
  scopes: new Set(scopes.filter(isScope)),
  checks,
});
