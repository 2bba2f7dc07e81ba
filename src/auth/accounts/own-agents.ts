import { announce, remove, removeAt, removeGroup, update } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import {
  type ClientRecord,
  clientGroup,
  clients,
  type IdentityType,
  ownedAgentsGroup,
} from "../agents/agent.ts";
import type { Auditor } from "../auditor.ts";
import { type LastUse, lastUseRemoval } from "../last-use.ts";
import type { Scope } from "../scopes.ts";

/** More agents than a page can show. */
const MAX_SHOWN = 1_000;

/** Most agents that a person can have by assertions: as many as a page can show. */
const MAX_ASSERTED = MAX_SHOWN;

/** An agent that a person owns. */
export interface OwnAgent {
  readonly agentId: string;
  /** What the agent calls itself. */
  readonly name: string | undefined;
  readonly identityType: IdentityType;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch. */
  readonly claimedAt: number;
  /** Client id of the application that claimed it, with whose access it ends; `undefined`: none. */
  readonly endsWith: string | undefined;
  /** Milliseconds since the epoch, to the hour; `undefined` when never. */
  readonly lastUsedAt: number | undefined;
}

/** Topic that is announced when a client was removed; the text is its id. */
export const REMOVED_TOPIC = "client-removed";

/** The steps that remove a client that was read before, with everything that was issued to it. */
export function agentRemoval(client: Stored<ClientRecord>): readonly Operation[] {
  const { key } = client;
  return [
    removeAt(clients, client),
    removeGroup(clientGroup(key)),
    lastUseRemoval(key),
    announce(REMOVED_TOPIC, key),
  ];
}

/** The steps that remove what the agents of a group have, such as alerts and tokens, where the
 *  group is removed together with what they depend on: the grant of the application that claimed
 *  them, or the application itself. */
export async function dependentAgentsRemoval(
  records: Pick<Records, "list">,
  group: string,
): Promise<readonly Operation[]> {
  const agents = await readAll(records, clients, group);
  return agents.flatMap(({ key }) => [
    removeGroup(clientGroup(key)),
    lastUseRemoval(key),
    announce(REMOVED_TOPIC, key),
  ]);
}

/** The steps that make room for one more agent of a person that comes by an assertion: where there are as
 *  many as there may be, those that were registered first give way. */
export async function assertedAgentEviction(
  records: Pick<Records, "list">,
  accountId: string,
): Promise<readonly Operation[]> {
  const all = await readAll(records, clients, ownedAgentsGroup(accountId));
  const asserted = all
    .filter(({ value }) => value.agent.identityType === "identity_assertion")
    .toSorted((a, b) => a.value.agent.registeredAt - b.value.agent.registeredAt);
  const over = asserted.slice(0, Math.max(0, asserted.length - MAX_ASSERTED + 1));
  const steps = over.map(async ({ key }) => [
    ...(await dependentAgentsRemoval(records, clientGroup(key))),
    remove(clients, key),
    removeGroup(clientGroup(key)),
    lastUseRemoval(key),
    announce(REMOVED_TOPIC, key),
  ]);
  return (await Promise.all(steps)).flat();
}

/** The agents that a person owns, the first claimed first. */
export async function agentsOf(
  records: Records,
  accountId: string,
  lastUse: LastUse,
): Promise<readonly OwnAgent[]> {
  const found = await records.list(clients, {
    group: ownedAgentsGroup(accountId),
    limit: MAX_SHOWN,
  });
  const usedAt = await lastUse.of(found.map(({ key }) => key));
  return found
    .flatMap((client) => ownAgent(client, usedAt.get(client.key)))
    .toSorted((a, b) => a.claimedAt - b.claimedAt);
}

/** Deletes an agent with everything that was issued to it. @returns Whether it was the person's. */
export function removeAgent(
  records: Records,
  { accountId, agentId, audit }: { accountId: string; agentId: string; audit: Auditor },
): Promise<boolean> {
  return update(records, { collection: clients, key: agentId }, async (client) =>
    client?.value.agent.owner?.accountId === accountId
      ? [
          ...(await dependentAgentsRemoval(records, clientGroup(agentId))),
          ...agentRemoval(client),
          ...audit({ action: "client.deleted", actor: accountId, target: agentId }),
        ]
      : undefined,
  );
}

function ownAgent(
  { key, value: { metadata, agent } }: Stored<ClientRecord>,
  lastUsedAt: number | undefined,
): readonly OwnAgent[] {
  const { identityType, owner } = agent;
  if (owner === undefined) return [];
  const { scopes, claimedAt, through } = owner;
  const name = metadata.client_name;
  const endsWith = through?.clientId;
  return [{ agentId: key, name, identityType, scopes, claimedAt, endsWith, lastUsedAt }];
}
