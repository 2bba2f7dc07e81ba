import { deleteLastUse } from "../../access/last-use.ts";
import { emailGroup } from "../../mail/email-address.ts";
import { writeAuditEntry } from "../../store/audit-entry.ts";
import type { Collection, Records } from "../../store/port/records.ts";
import { findKept, type Kept, readKept } from "../../store/set-aside.ts";
import { transact } from "../../store/transact.ts";
import { accountRecordsGroup, clients, ownedAgentsGroup } from "../agents/agent.ts";
import { apiKeys } from "../keys/api-keys.ts";
import { accounts } from "./accounts.ts";
import { grantGroup, grants } from "./grants.ts";
import { deleteAgent } from "./owned-agents.ts";

/** Actor in the audit rows. */
const ACTOR = "operator";

/** Options of `forgetEmail`. */
interface ForgetEmailOptions {
  readonly records: Records;
  readonly now: () => Date;
  /**
   * Collections whose deleted records are counted, by the name of the count in the result. Records
   * of all other collections are deleted without being counted.
   */
  readonly counted: Readonly<Record<string, Collection<unknown>>>;
}

/**
 * Counts what is kept of a person, as `forgetEmail` would delete it.
 *
 * @param email Normalized.
 */
export async function countEmail(
  options: ForgetEmailOptions,
  email: string,
): Promise<DeletedCounts> {
  const { records } = options;
  const { groups, agentGroups } = await groupsOf(records, email);
  const agents = await allIn(agentGroups, { records, from: clients });
  return { ...(await countsIn(groups, options)), agents: agents.length };
}

/** The groups of a person's records and of their agents, and the accounts with the address. */
async function groupsOf(records: Records, email: string) {
  const people = await readKept(records, accounts, emailGroup(email));
  return {
    people,
    groups: [emailGroup(email), ...people.map(({ key }) => accountRecordsGroup(key))],
    agentGroups: [emailGroup(email), ...people.map(({ key }) => ownedAgentsGroup(key))],
  };
}

/** Numbers of deleted records by name; `agents` counts the agents that the person owned. */
export type DeletedCounts = Readonly<Record<string, number>>;

/**
 * Deletes a person's data: every account with this email address, everything that belongs to these
 * accounts, the agents that they own or that gave the address at registration, and every other
 * record stored under the address. What the operator has disabled is deleted as it is, and never
 * takes effect again.
 *
 * Agents are deleted one at a time, then everything else in one transaction. After an interruption,
 * a repeated call deletes the rest. The audit log gets a row with the id of each agent and account.
 *
 * @param email Normalized.
 */
export async function forgetEmail(
  options: ForgetEmailOptions,
  email: string,
): Promise<DeletedCounts> {
  const { records, now } = options;
  const { people, groups, agentGroups } = await groupsOf(records, email);
  const counts = await countsIn(groups, options);
  const agents = await removeAgents(agentGroups, options);
  const allowed = await allIn(groups, { records, from: grants });
  const keys = await allIn(groups, { records, from: apiKeys });
  const at = now().getTime();
  await transact(records, async (tx) => {
    const left = await Promise.all(people.map(({ key }) => findKept(tx, accounts, key)));
    for (const { value } of keys) deleteLastUse(tx, value.id);
    for (const { key } of allowed) tx.removeGroup(grantGroup(key));
    for (const group of groups) tx.removeGroup(group);
    for (const account of left) {
      if (account === undefined) continue;
      writeAuditEntry(tx, { action: "account.forgotten", actor: ACTOR, target: account.key }, at);
    }
  });
  // Agents that were claimed while the other records were being deleted.
  const late = await removeAgents(agentGroups, options);
  return { ...counts, agents: agents + late };
}

async function countsIn(
  groups: readonly string[],
  { records, counted }: ForgetEmailOptions,
): Promise<DeletedCounts> {
  const counts = Object.entries(counted).map(
    async ([name, from]) => [name, (await allIn(groups, { records, from })).length] as const,
  );
  return Object.fromEntries(await Promise.all(counts));
}

/**
 * Every record of the groups, also those that the operator has disabled. A record in several groups
 * is returned once.
 */
async function allIn<T>(
  groups: readonly string[],
  { records, from }: { readonly records: Records; readonly from: Collection<T> },
): Promise<readonly Kept<T>[]> {
  const found = await Promise.all(groups.map((group) => readKept(records, from, group)));
  return [...new Map(found.flat().map((stored) => [stored.key, stored])).values()];
}

async function removeAgents(
  groups: readonly string[],
  { records, now }: ForgetEmailOptions,
): Promise<number> {
  const found = await allIn(groups, { records, from: clients });
  let removed = 0;
  for (const { key } of found) {
    const at = now().getTime();
    const isRemoved = await transact(records, async (tx) => {
      if ((await findKept(tx, clients, key)) === undefined) return false;
      await deleteAgent(tx, key);
      writeAuditEntry(tx, { action: "client.deleted", actor: ACTOR, target: key }, at);
      return true;
    });
    if (isRemoved) removed += 1;
  }
  return removed;
}
