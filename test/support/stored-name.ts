import { clients } from "../../src/principals/agents/agent.ts";
import { transact } from "../../src/store/transact.ts";
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
  await transact(service.state.store.records, async (tx) => {
    const stored = await tx.get(clients, client_id);
    if (stored === undefined) throw new Error(`${client_id} is not registered`);
    const { metadata, agent } = stored.value;
    tx.update(clients, stored, { value: { agent, metadata: { ...metadata, client_name } } });
  });
}
