import type { Auditor } from "../../access/auditor.ts";
import { deleteLastUse, type LastUseTracker } from "../../access/last-use.ts";
import type { Scope } from "../../access/scopes.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Records, Stored } from "../../store/port/records.ts";
import { readKept, removeKept } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
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

/** Deletes a client, also one that is set aside, and everything issued to it. */
export async function deleteAgent(tx: Transaction, clientId: string): Promise<void> {
  await deleteAgentDependents(tx, clientGroup(clientId));
  removeKept(tx, clients, clientId);
  deleteDependents(tx, clientId);
}

/** Deletes the records of a client, such as tokens and alerts, but not the client itself. */
function deleteDependents(tx: Transaction, clientId: string): void {
  tx.removeGroup(clientGroup(clientId));
  deleteLastUse(tx, clientId);
  tx.announce(CLIENT_REMOVED_TOPIC, clientId);
}

/**
 * Deletes the records that depend on a group's agents, such as alerts and tokens, but not the
 * agents themselves. The agents are deleted when the same transaction removes the group, together
 * with the application that claimed them or with that application's grant.
 */
export async function deleteAgentDependents(tx: Transaction, group: string): Promise<void> {
  for (const { key } of await readKept(tx, clients, group)) deleteDependents(tx, key);
}

/**
 * Makes room for the next agent that a person registers with an assertion. At `MAX_ASSERTED`, the
 * agents registered first are deleted.
 */
export async function evictAssertedAgents(tx: Transaction, accountId: string): Promise<void> {
  const all = await readAll(tx, clients, ownedAgentsGroup(accountId));
  const asserted = all
    .filter(({ value }) => value.agent.identityType === "identity_assertion")
    .toSorted((a, b) => a.value.agent.registeredAt - b.value.agent.registeredAt);
  await evictAgents(tx, asserted, MAX_ASSERTED);
}

/** Deletes the first agents of a list to make room for one more agent. */
export async function evictAgents(
  tx: Transaction,
  agents: readonly Stored<ClientRecord>[],
  most: number,
): Promise<void> {
  for (const { key } of agents.slice(0, Math.max(0, agents.length - most + 1))) {
    await deleteAgent(tx, key);
  }
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
  return transact(records, async (tx) => {
    const client = await tx.get(clients, agentId);
    if (client?.value.agent.owner?.accountId !== accountId) return false;
    await deleteAgent(tx, agentId);
    audit(tx, { action: "client.deleted", actor: accountId, target: agentId });
    return true;
  });
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
