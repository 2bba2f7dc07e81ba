import { unchanged } from "../store/port/operations.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Operation, Records } from "../store/port/records.ts";
import { accounts } from "./accounts/accounts.ts";
import { allowedScopes, grants } from "./accounts/grants.ts";
import { accountRecordsGroup, clients } from "./agents/agent.ts";
import type { Caller } from "./caller.ts";
import { apiKeyGroup, apiKeys } from "./keys/api-keys.ts";
import { hasMetadataDocument } from "./oidc/metadata-documents.ts";
import { clientScopeCeiling } from "./oidc/resource-indicators.ts";
import { alertScopes, allScopes, isScope, type Scope, scopeNames } from "./scopes.ts";

/** An owner of alerts. */
interface AlertOwner {
  readonly kind: Caller["kind"];
  /** As `Caller.id`. */
  readonly id: string;
  /** The client through which a person acts. Absent: any that they let act for them. */
  readonly clientId?: string | undefined;
}

/** Where owners are looked up. */
type Registers = Pick<Records, "get" | "list">;

/** Current rights of an owner of alerts, without a credential. */
interface Rights {
  readonly scopes: ReadonlySet<Scope>;
  /** Hold in a commit only while the rights stay as they are. */
  readonly steps: readonly Operation[];
}

const NO_RIGHTS: Rights = { scopes: new Set(), steps: [] };

/** The scopes that an owner of alerts holds now, as far as the client is still registered for
 *  them: the most that its tokens could have. None once the owner is gone: expired, removed, or
 *  a client without a grant of the person for whom it made them. */
export async function heldScopes(
  records: Registers,
  owner: AlertOwner,
): Promise<ReadonlySet<Scope>> {
  return (await rightsOf(records, owner)).scopes;
}

/** Whether scopes suffice to receive events. */
export const isEntitled = (held: ReadonlySet<Scope>): boolean =>
  alertScopes.every((scope) => held.has(scope));

/**
 * The steps that let a commit hold only while the owner may have alerts: nothing is created for an
 * owner who is removed meanwhile, since nothing would remove it.
 *
 * @returns `undefined` when they may not.
 */
export async function ifEntitled(
  records: Registers,
  owner: AlertOwner,
): Promise<readonly Operation[] | undefined> {
  const { scopes, steps } = await rightsOf(records, owner);
  return isEntitled(scopes) ? steps : undefined;
}

/** Whether an owner of alerts still exists, whatever scopes they hold. */
export async function ownerExists(records: Registers, owner: AlertOwner): Promise<boolean> {
  return (await rightsOf(records, owner)) !== NO_RIGHTS;
}

async function rightsOf(records: Registers, owner: AlertOwner): Promise<Rights> {
  switch (owner.kind) {
    case "agent": {
      const client = await records.get(clients, owner.id);
      return client
        ? rights(clientScopeCeiling(client.value, []), [unchanged(clients, client)])
        : NO_RIGHTS;
    }
    case "user":
      return rightsByGrants(records, owner);
    case "service": {
      const [key] = await records.list(apiKeys, { group: apiKeyGroup(owner.id), limit: 1 });
      return key ? rights(key.value.scopes, [unchanged(apiKeys, key)]) : NO_RIGHTS;
    }
  }
}

/** A client holds what a person allowed it in any grant, while the grant and the client exist. */
async function rightsByGrants(records: Registers, { id, clientId }: AlertOwner): Promise<Rights> {
  const [account, all, registered] = await Promise.all([
    records.get(accounts, id),
    readAll(records, grants, accountRecordsGroup(id)),
    registrationOf(records, clientId),
  ]);
  if (account === undefined || registered === undefined) return NO_RIGHTS;
  const own = all.filter(({ value }) => clientId === undefined || value.clientId === clientId);
  return rights(
    own
      .flatMap(({ value }) => allowedScopes(value))
      .filter((scope) => registered.scopes.includes(scope)),
    [
      unchanged(accounts, account),
      ...registered.steps,
      ...own.map((grant) => unchanged(grants, grant)),
    ],
  );
}

/** What a client is registered for. */
interface Registration {
  readonly scopes: readonly string[];
  /** Hold in a commit only while the client stays as it is. */
  readonly steps: readonly Operation[];
}

/** Reads the scopes that a client is registered for: all, for a client with a metadata document
 *  or where any client will do. @returns `undefined` when it is gone. */
async function registrationOf(
  records: Registers,
  clientId: string | undefined,
): Promise<Registration | undefined> {
  if (clientId === undefined || hasMetadataDocument(clientId))
    return { scopes: allScopes, steps: [] };
  const client = await records.get(clients, clientId);
  if (client === undefined) return undefined;
  const scopes = scopeNames(client.value.metadata.scope ?? "");
  return { scopes, steps: [unchanged(clients, client)] };
}

const rights = (scopes: readonly string[], steps: readonly Operation[]): Rights => ({
  scopes: new Set(scopes.filter(isScope)),
  steps,
});
