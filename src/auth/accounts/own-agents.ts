import { announce, removeAt, removeGroup, update } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Operation, Records, Stored } from "../../store/port/records.ts";
import { type ClientRecord, claimedBy, clients, issuedTo } from "../agents/agent.ts";
import { withoutLastUse } from "../last-use.ts";
import type { AccountsOptions } from "./account-store.ts";
import type { Accounts, OwnAgent } from "./accounts.ts";

/** More agents than a page can show. */
const MAX_SHOWN = 1_000;

/** Topic that is announced when a client was removed; the text is its id. */
export const REMOVED_TOPIC = "client-removed";

/** The steps that remove a client that was read before, with everything that was issued to it. */
export function withoutAgent(client: Stored<ClientRecord>): readonly Operation[] {
  const { key } = client;
  return [
    removeAt(clients, client),
    removeGroup(issuedTo(key)),
    withoutLastUse(key),
    announce(REMOVED_TOPIC, key),
  ];
}

/**
 * The steps that end what the agents of a group have, such as alerts and tokens, where the group goes with
 * what they hang on: the grant of an application that claimed them, or the application itself.
 */
export async function withoutAgentsIn(
  records: Pick<Records, "list">,
  group: string,
): Promise<readonly Operation[]> {
  const agents = await readAll(records, clients, group);
  return agents.flatMap(({ key }) => [
    removeGroup(issuedTo(key)),
    withoutLastUse(key),
    announce(REMOVED_TOPIC, key),
  ]);
}

/** The agents that people answer for, the first claimed first. */
export function createOwnAgents({
  records,
  audit,
  lastUse,
}: AccountsOptions): Pick<Accounts, "agentsOf" | "removeAgent"> {
  return {
    async agentsOf(accountId) {
      const selection = { group: claimedBy(accountId), limit: MAX_SHOWN };
      const found = await records.list(clients, selection);
      const usedAt = await lastUse.of(found.map(({ key }) => key));
      return found
        .flatMap((client) => ownAgent(client, usedAt.get(client.key)))
        .toSorted((a, b) => a.claimedAt - b.claimedAt);
    },
    removeAgent: (accountId, agentId) =>
      update(records, { collection: clients, key: agentId }, async (client) =>
        client?.value.agent.owner?.accountId === accountId
          ? [
              ...(await withoutAgentsIn(records, issuedTo(agentId))),
              ...withoutAgent(client),
              ...audit({ action: "client.deleted", actor: accountId, target: agentId }),
            ]
          : undefined,
      ),
  };
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
