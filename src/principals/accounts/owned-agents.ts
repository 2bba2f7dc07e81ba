import type { Auditor } from "../../access/auditor.ts";
import { type LastUseTracker, lastUseRemovalOperation } from "../../access/last-use.ts";
import type { Scope } from "../../access/scopes.ts";
import { announce, remove, removeGroup, updateRecord } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { type Kept, readKept, removeKept } from "../../store/set-aside.ts";
import { writesOf } from "../../store/transact.ts";
import {
  type ClientRecord,
  clientGroup,
  clients,
  type IdentityType,
  ownedAgentsGroup,
} from "../agents/agent.ts";

/** Maximum number of agents that a page shows. */
const MAX_SHOWN = 1_000;

/** Maximum number of agents that a person can register with assertions: as many as a page shows. */
const MAX_ASSERTED = MAX_SHOWN;

/** An agent that a person owns. */
export interface OwnedAgent {
  readonly agentId: string;
  /** Display name that the agent chose at registration. */
  readonly name: string | undefined;
  readonly identityType: IdentityType;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /**
   * Client id of the application that claimed the agent, and on whose access the agent depends;
   * `undefined` when a person claimed it.
   */
  readonly claimedBy: string | undefined;
  /** Last use in milliseconds since the epoch, accurate to the hour; `undefined` if never used. */
  readonly lastUsedAt: number | undefined;
}

/** Topic of the announcement that a client was deleted; the message is the client id. */
export const CLIENT_REMOVED_TOPIC = "client-removed";

/** The operations that delete a client and everything issued to it. */
export function agentRemovalOperations(client: Kept<ClientRecord>): readonly Operation[] {
  return [removeKept(clients, client), ...dependentsRemoval(client.key)];
}

/**
 * The operations that delete the records of a client, such as tokens and alerts, but not the client
 * itself.
 */
const dependentsRemoval = (clientId: string): readonly Operation[] => [
  removeGroup(clientGroup(clientId)),
  lastUseRemovalOperation(clientId),
  announce(CLIENT_REMOVED_TOPIC, clientId),
];

/**
 * The operations that delete the records that depend on a group's agents, such as alerts and
 * tokens, but not the agents themselves. The agents are deleted when the same commit removes the
 * group, together with the application that claimed them or with that application's grant.
 */
export async function agentDependentsRemovalOperations(
  records: Records,
  group: string,
): Promise<readonly Operation[]> {
  const agents = await readKept(records, clients, group);
  return agents.flatMap(({ key }) => dependentsRemoval(key));
}

/**
 * The operations that make room for the next agent that a person registers with an assertion. At
 * `MAX_ASSERTED`, the agents registered first are deleted.
 */
export async function assertedAgentEvictionOperations(
  records: Records,
  accountId: string,
): Promise<readonly Operation[]> {
  const all = await readAll(records, clients, ownedAgentsGroup(accountId));
  const asserted = all
    .filter(({ value }) => value.agent.identityType === "identity_assertion")
    .toSorted((a, b) => a.value.agent.registeredAt - b.value.agent.registeredAt);
  return agentEvictionOperations(records, asserted, MAX_ASSERTED);
}

/** The operations that delete the first agents of a list to make room for one more agent. */
export async function agentEvictionOperations(
  records: Records,
  agents: readonly Stored<ClientRecord>[],
  most: number,
): Promise<readonly Operation[]> {
  const over = agents.slice(0, Math.max(0, agents.length - most + 1));
  const steps = over.map(async ({ key }) => [
    ...(await agentDependentsRemovalOperations(records, clientGroup(key))),
    remove(clients, key),
    removeGroup(clientGroup(key)),
    lastUseRemovalOperation(key),
    announce(CLIENT_REMOVED_TOPIC, key),
  ]);
  return (await Promise.all(steps)).flat();
}

/** The agents that a person owns, the one owned longest first. */
export async function listOwnedAgents(
  records: Records,
  accountId: string,
  lastUse: LastUseTracker,
): Promise<readonly OwnedAgent[]> {
  const found = await records.list(clients, {
    group: ownedAgentsGroup(accountId),
    limit: MAX_SHOWN,
  });
  const usedAt = await lastUse.of(found.map(({ key }) => key));
  return found
    .flatMap((client) => ownedAgent(client, usedAt.get(client.key)))
    .toSorted((a, b) => a.claimedAt - b.claimedAt);
}

/** Deletes an agent and everything issued to it. @returns `false` if the person does not own it. */
export function removeOwnedAgent(
  records: Records,
  { accountId, agentId, audit }: { accountId: string; agentId: string; audit: Auditor },
): Promise<boolean> {
  return updateRecord(records, { collection: clients, key: agentId }, async (client) =>
    client?.value.agent.owner?.accountId === accountId
      ? [
          ...(await agentDependentsRemovalOperations(records, clientGroup(agentId))),
          ...agentRemovalOperations(client),
          ...writesOf(audit, { action: "client.deleted", actor: accountId, target: agentId }),
        ]
      : undefined,
  );
}

function ownedAgent(
  { key, value: { metadata, agent } }: Stored<ClientRecord>,
  lastUsedAt: number | undefined,
): readonly OwnedAgent[] {
  const { identityType, owner } = agent;
  if (owner === undefined) return [];
  const { scopes, claimedAt, through } = owner;
  const name = metadata.client_name;
  const claimedBy = through?.clientId;
  return [{ agentId: key, name, identityType, scopes, claimedAt, claimedBy, lastUsedAt }];
}
