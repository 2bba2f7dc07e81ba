import { createAuditor } from "../../src/access/auditor.ts";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { createLimits } from "../../src/limits/limits.ts";
import { AccountService } from "../../src/principals/accounts/accounts.ts";
import {
  type ClientRecord,
  clientGroup,
  clients,
  ownedAgentsGroup,
} from "../../src/principals/agents/agent.ts";
import { unsealedAudit } from "../../src/store/audit-entry.ts";
import { put } from "../../src/store/port/operations.ts";
import { collection, type Records } from "../../src/store/port/records.ts";
import { looseNumbers } from "./limits.ts";
import type { TestStore } from "./stores.ts";

/** Access tokens, as an example of records that are issued to a client or a person. */
export const tokens = collection<object>("oidc:AccessToken");

/** Creates the account components on the records of a store, with the clock of a store. */
export function peopleOf({ clock }: Pick<TestStore, "clock">, records: Records) {
  const now = () => new Date(clock.now);
  const hashAddress = (address: string): string => `hash of ${address}`;
  const audit = createAuditor({ hashAddress, now });
  const fail = (error: unknown) => {
    throw error;
  };
  const lastUse = new LastUseTracker({ records, now, onError: fail });
  return {
    now,
    audit,
    limits: createLimits({ overrides: looseNumbers }),
    hashAddress,
    lastUse,
    accounts: new AccountService({ records, now, audit, lastUse, hashAddress }),
  };
}

/** Reads the unsealed audit rows, oldest first, as action, actor and target. */
export async function auditOf({ records }: Pick<TestStore, "records">) {
  const rows = await records.list(unsealedAudit, { limit: 1_000 });
  const entries = rows.map(({ value }) => value.body as Readonly<Record<string, unknown>>);
  return entries.map(({ action, actor, target }) => ({ action, actor, target }));
}

/** Stores an agent that an account owns, with a token of the agent. */
export async function claimedAgent(
  { records, clock }: Pick<TestStore, "records" | "clock">,
  { accountId, agentId }: { readonly accountId: string; readonly agentId: string },
): Promise<void> {
  const value: ClientRecord = {
    metadata: { client_name: `agent ${agentId}`, grant_types: ["client_credentials"] },
    agent: {
      identityType: "anonymous",
      registeredAt: clock.now,
      owner: { accountId, scopes: ["signals:read"], claimedAt: clock.now },
    },
  };
  await records.commit([
    put(clients, { key: agentId, value, groups: [ownedAgentsGroup(accountId)] }),
    put(tokens, { key: `token of ${agentId}`, value: {}, groups: [clientGroup(agentId)] }),
  ]);
}
