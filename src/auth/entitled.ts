import { unchanged } from "../store/operations.ts";
import type { Operation, Records } from "../store/records.ts";
import { accounts } from "./accounts/account-records.ts";
import { clients } from "./agents/agent.ts";
import type { Caller } from "./caller.ts";
import { apiKeys, ofKey } from "./keys/api-keys.ts";
import type { Scope } from "./scopes.ts";

/** What alerts need. */
const SCOPE: Scope = "alerts:write";

/** Who may have alerts. */
type Holder = Pick<Caller, "kind" | "id">;

/** Where holders are looked up. */
type Registers = Pick<Records, "get" | "list">;

/** Whether somebody who made alerts is still there and may still have them. Whoever has expired is
 *  not there. */
export async function isEntitled(records: Registers, holder: Holder): Promise<boolean> {
  return (await whileEntitled(records, holder)) !== undefined;
}

/**
 * The step that lets a commit hold only while somebody may have alerts: nothing is made for who is
 * removed at the same time, since nothing would remove it.
 *
 * @returns `undefined` when they may not.
 */
export async function whileEntitled(
  records: Registers,
  { kind, id }: Holder,
): Promise<Operation | undefined> {
  switch (kind) {
    case "agent": {
      const client = await records.get(clients, id);
      const isAllowed = client?.value.agent.owner?.scopes.includes(SCOPE) ?? false;
      return client && isAllowed ? unchanged(clients, client) : undefined;
    }
    case "user": {
      const account = await records.get(accounts, id);
      return account && unchanged(accounts, account);
    }
    case "service": {
      const [key] = await records.list(apiKeys, { group: ofKey(id), limit: 1 });
      return key?.value.scopes.includes(SCOPE) ? unchanged(apiKeys, key) : undefined;
    }
  }
}
