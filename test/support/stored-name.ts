import { clients } from "../../src/principals/agents/agent.ts";
import { replace, updateRecord } from "../../src/store/port/operations.ts";
import type { TestService } from "./test-service.ts";

/**
 * Gives a registered client a name that registration would reject. Clients that registered before
 * the rule existed may have such a name.
 */
export async function storeName(
  { service }: TestService,
  { client_id }: { readonly client_id: string },
  client_name: string,
): Promise<void> {
  const at = { collection: clients, key: client_id };
  await updateRecord(service.state.store.records, at, (stored) => {
    if (stored === undefined) throw new Error(`${client_id} is not registered`);
    const { metadata, agent } = stored.value;
    return [replace(clients, stored, { value: { agent, metadata: { ...metadata, client_name } } })];
  });
}
