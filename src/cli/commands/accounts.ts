import { z } from "zod";
import { channels } from "../../alerts/channels/channel.ts";
import { type AccountRecord, accounts } from "../../principals/accounts/accounts.ts";
import { CLIENT_REMOVED_TOPIC } from "../../principals/accounts/owned-agents.ts";
import { accountRecordsGroup, clients, ownedAgentsGroup } from "../../principals/agents/agent.ts";
import { apiKeys } from "../../principals/keys/api-keys.ts";
import { readAll } from "../../store/port/read-all.ts";
import { readSetAside, setAside } from "../../store/set-aside.ts";
import { defineStoreCommand } from "../command.ts";
import { type Disabled, disable, enable } from "./disabling.ts";
import { leftOutNotes, listOptions, newest, sinceOf } from "./listing.ts";
import { isoOrNull } from "./shared.ts";

const account: Disabled<AccountRecord> = {
  noun: "account",
  collection: accounts,
  action: "account",
  async disableDependents(tx, accountId, at) {
    const together = { at, withKey: accountId };
    const keys = await readAll(tx, apiKeys, accountRecordsGroup(accountId));
    for (const key of keys) setAside(tx, apiKeys, key, together);
    // Codes and notices that wait for a channel belong to no alert.
    const ownChannels = await readAll(tx, channels, accountRecordsGroup(accountId));
    for (const channel of ownChannels) setAside(tx, channels, channel, together);
    const agents = await readAll(tx, clients, ownedAgentsGroup(accountId));
    for (const agent of agents) {
      setAside(tx, clients, agent, together);
      tx.announce(CLIENT_REMOVED_TOPIC, agent.key);
    }
    return { keys: keys.length, agents: agents.length, channels: ownChannels.length };
  },
};

const AccountArgument = z.string("name an account").startsWith("acc_", "must start with acc_");

/** `accounts list`: lists the accounts of people. */
export const accountsListCommand = defineStoreCommand({
  summary: "Lists the accounts of people, the newest first.",
  notes: ["A label is an email address, or the name that an identity provider gave."],
  options: {
    ...listOptions,
    email: {
      value: "<text>",
      about: "only those whose label contains this text",
      schema: z.string().min(1, "is empty").optional(),
    },
    disabled: { about: "only those that are disabled", schema: z.boolean().default(false) },
  },

  async run({ since, limit, email, disabled }, { store: { records }, now }) {
    const aside = await readSetAside(records, accounts);
    const active = disabled ? [] : await readAll(records, accounts);
    const found = [...active.map(accountFacts), ...aside.map(accountFacts)].filter(
      ({ label }) => email === undefined || label.toLowerCase().includes(email.toLowerCase()),
    );
    const shown = newest(found, { since: sinceOf(since, now()), limit }, ({ at }) => at);
    const listed = shown.items.map(({ at, ...facts }) => facts);
    return {
      isGood: true,
      lines: listed.length === 0 ? ["There are no such accounts."] : listed.map(accountText),
      result: { accounts: listed, total: shown.total },
      notes: leftOutNotes(shown),
    };
  },
});

interface ListedAccount {
  readonly key: string;
  readonly value: AccountRecord;
  /** When it was set aside; absent for an account that is not. */
  readonly at?: number;
}

const accountFacts = ({ key, value: { label, createdAt }, at }: ListedAccount) => ({
  id: key,
  label,
  createdAt: isoOrNull(createdAt),
  disabledAt: isoOrNull(at),
  at: createdAt,
});

function accountText(one: Omit<ReturnType<typeof accountFacts>, "at">): string {
  const state = one.disabledAt === null ? "" : `  DISABLED ${one.disabledAt}`;
  return `${one.id}  ${one.createdAt}${state}  ${one.label}`;
}

/** `accounts disable`: ends an account. */
export const accountsDisableCommand = defineStoreCommand({
  summary: "Ends an account at once: sign-in, sessions, tokens, keys, agents, alerts, deliveries.",
  notes: [
    "That holds on every process, and can be undone by `admin accounts enable`. The person is told at",
    "sign-in. To remove what is kept of a person, see `admin forget`.",
  ],
  operands: { id: AccountArgument },
  run: ({ id }, context) => disable(account, id, context),
});

/** `accounts enable`: undoes `accounts disable`. */
export const accountsEnableCommand = defineStoreCommand({
  summary: "Gives a disabled account back what it had.",
  notes: ["Agents of it that were disabled on their own stay disabled."],
  operands: { id: AccountArgument },
  run: ({ id }, context) => enable(account, id, context),
});
