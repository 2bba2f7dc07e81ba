import { emailGroup } from "../../mail/email-address.ts";
import { audited } from "../../store/audit/entry.ts";
import { removeGroup } from "../../store/port/operations.ts";
import { readAll } from "../../store/port/read-all.ts";
import type { Collection, Records, Stored } from "../../store/port/records.ts";
import { accountRecordsGroup, clientGroup, clients, ownedAgentsGroup } from "../agents/agent.ts";
import { apiKeys } from "../keys/api-keys.ts";
import { lastUseRemoval } from "../last-use.ts";
import { accounts } from "./accounts.ts";
import { grantGroup, grants } from "./grants.ts";
import { agentRemoval, dependentAgentsRemoval } from "./own-agents.ts";

/** Actor in the audit. */
const ACTOR = "operator";

/** What `forgetEmail` works with. */
export interface ForgetOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** What is counted, by the name that it has in the answer. Everything goes, counted or not. */
  readonly counted: Readonly<Record<string, Collection<unknown>>>;
}

/** Counts of what was removed, by name; agents that the person owned are `agents`. */
export type Forgotten = Readonly<Record<string, number>>;

/**
 * Removes a person: every account that shows the address with everything that belongs to it, the
 * agents that it owns or that named the address, and everything else stored under the address.
 *
 * Agents are removed one by one before their account, and all the rest in one commit. After an
 * interruption, repeating the call removes what is left. The audit has a row for each agent and
 * account, by id.
 *
 * @param email Normalized.
 */
export async function forgetEmail(options: ForgetOptions, email: string): Promise<Forgotten> {
  const { records, now } = options;
  const people = await readAll(records, accounts, emailGroup(email));
  const groups = [emailGroup(email), ...people.map(({ key }) => accountRecordsGroup(key))];
  const agentGroups = [emailGroup(email), ...people.map(({ key }) => ownedAgentsGroup(key))];

  const counts = await countsIn(groups, options);
  const agents = await removeAgents(agentGroups, options);
  const allowed = await allIn(groups, { records, from: grants });
  const keys = await allIn(groups, { records, from: apiKeys });
  await records.commit([
    ...keys.map(({ value }) => lastUseRemoval(value.id)),
    ...allowed.map(({ key }) => removeGroup(grantGroup(key))),
    ...groups.map(removeGroup),
    ...people.flatMap(({ key }) =>
      audited({ action: "account.forgotten", actor: ACTOR, target: key }, now().getTime()),
    ),
  ]);
  // Agents that were claimed meanwhile.
  const late = await removeAgents(agentGroups, options);
  return { ...counts, agents: agents + late };
}

async function countsIn(
  groups: readonly string[],
  { records, counted }: ForgetOptions,
): Promise<Forgotten> {
  const counts = Object.entries(counted).map(
    async ([name, from]) => [name, (await allIn(groups, { records, from })).length] as const,
  );
  return Object.fromEntries(await Promise.all(counts));
}

/** Each record once, however many of the groups it is in. */
async function allIn<T>(
  groups: readonly string[],
  { records, from }: { readonly records: Records; readonly from: Collection<T> },
): Promise<readonly Stored<T>[]> {
  const found = await Promise.all(groups.map((group) => readAll(records, from, group)));
  return [...new Map(found.flat().map((stored) => [stored.key, stored])).values()];
}

async function removeAgents(
  groups: readonly string[],
  { records, now }: ForgetOptions,
): Promise<number> {
  let removed = 0;
  for (;;) {
    const found = await allIn(groups, { records, from: clients });
    if (found.length === 0) return removed;
    for (const agent of found) {
      const entry = { action: "client.deleted", actor: ACTOR, target: agent.key };
      // One that was changed meanwhile comes again.
      const steps = [
        ...(await dependentAgentsRemoval(records, clientGroup(agent.key))),
        ...agentRemoval(agent),
        ...audited(entry, now().getTime()),
      ];
      if (await records.commit(steps)) removed += 1;
    }
  }
}
