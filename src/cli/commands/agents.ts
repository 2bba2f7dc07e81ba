import { z } from "zod";
import { CLIENT_REMOVED_TOPIC } from "../../principals/accounts/owned-agents.ts";
import { type ClientRecord, clients } from "../../principals/agents/agent.ts";
import { readAll } from "../../store/port/read-all.ts";
import { readSetAside } from "../../store/set-aside.ts";
import { defineStoreCommand } from "../command.ts";
import { type Disabled, disable, enable } from "./disabling.ts";
import { leftOutNotes, listOptions, newest, sinceOf } from "./listing.ts";
import { isoOrNull } from "./shared.ts";

const agent: Disabled<ClientRecord> = {
  noun: "agent",
  collection: clients,
  action: "client",
  topic: CLIENT_REMOVED_TOPIC,
  accountOf: ({ agent: { owner } }) => owner?.accountId,
};

const AgentArgument = z.string("name an agent");

/** `agents list`: lists the registered clients. */
export const agentsListCommand = defineStoreCommand({
  summary:
    "Lists the agents, the newest first: who registered them, from where, and whose they are.",
  notes: [
    "Names are what agents wrote; nobody has checked them. A network is a hash: agents with the same",
    "one come from the same site (/24 of IPv4, /48 of IPv6).",
  ],
  options: {
    ...listOptions,
    network: {
      value: "<hash>",
      about: "only those from this network, or its first characters",
      schema: z.string().min(1, "is empty").optional(),
    },
    owner: {
      value: "<account>",
      about: "only those of this account",
      schema: z.string().optional(),
    },
    claimed: {
      value: "<yes|no>",
      about: "only those that a person has claimed, or has not",
      schema: z.enum(["yes", "no"], "must be yes or no").optional(),
    },
    disabled: { about: "only those that are disabled", schema: z.boolean().default(false) },
  },

  async run({ since, limit, network, owner, claimed, disabled }, { store: { records }, now }) {
    const aside = await readSetAside(records, clients);
    const active = disabled ? [] : await readAll(records, clients);
    const found = [...active.map(agentFacts), ...aside.map(agentFacts)]
      .filter((one) => network === undefined || isFrom(one, network))
      .filter((one) => owner === undefined || one.owner === owner)
      .filter((one) => claimed === undefined || (one.owner !== null) === (claimed === "yes"));
    const window = { since: sinceOf(since, now()), limit };
    const shown = newest(found, window, ({ at }) => at);
    const agents = shown.items.map(({ at, ...facts }) => facts);
    return {
      isGood: true,
      lines: agents.length === 0 ? ["There are no such agents."] : agents.map(agentText),
      result: { agents, total: shown.total },
      notes: leftOutNotes(shown),
    };
  },
});

interface ListedClient {
  readonly key: string;
  readonly value: ClientRecord;
  readonly expiresAt?: number | undefined;
  /** When it was set aside; absent for a client that is not. */
  readonly at?: number;
}

function agentFacts({ key, value: { metadata, agent: facts }, expiresAt, at }: ListedClient) {
  const { identityType, registeredAt, owner } = facts;
  return {
    id: key,
    name: metadata.client_name ?? null,
    identityType,
    scopes: metadata.scope ?? "",
    owner: owner?.accountId ?? null,
    network: facts.site ?? null,
    provider: facts.provider ?? null,
    registeredAt: isoOrNull(registeredAt),
    claimedAt: isoOrNull(owner?.claimedAt),
    expiresAt: isoOrNull(expiresAt),
    disabledAt: isoOrNull(at),
    at: registeredAt,
  };
}

const isFrom = (
  one: Pick<ReturnType<typeof agentFacts>, "network" | "provider">,
  wanted: string,
): boolean => [one.network, one.provider].some((hash) => hash?.startsWith(wanted) === true);

function agentText(one: Omit<ReturnType<typeof agentFacts>, "at">): string {
  const { id, identityType, registeredAt, network, owner, disabledAt, name } = one;
  const state = disabledAt === null ? "" : `  DISABLED ${disabledAt}`;
  return `${id}  ${registeredAt}  ${identityType}  ${network ?? "-"}  ${owner ?? "unclaimed"}${state}  ${name ?? "-"}`;
}

/** `agents disable`: ends an agent. */
export const agentsDisableCommand = defineStoreCommand({
  summary: "Ends an agent at once: its tokens, streams, alerts and deliveries, on every process.",
  notes: [
    "It can be undone by `admin agents enable`; deliveries that were due meanwhile are not sent again.",
    "An application that is known by its metadata document has no registration: disable the accounts",
    "that use it. Nothing keeps an unclaimed agent's author from registering another one.",
  ],
  operands: { id: AgentArgument },
  run: ({ id }, context) => disable(agent, id, context),
});

/** `agents enable`: undoes `agents disable`. */
export const agentsEnableCommand = defineStoreCommand({
  summary: "Gives a disabled agent back what it had.",
  notes: [],
  operands: { id: AgentArgument },
  run: ({ id }, context) => enable(agent, id, context),
});
