import type { Records } from "../../store/records.ts";
import { clients, registeredBy } from "./agent.ts";

/** Finds the client behind a registration access token (RFC 7592 section 3).
 *  @returns The client's id; `undefined` when the token is unknown or was replaced. */
export type AgentOf = (registrationToken: string) => Promise<string | undefined>;

/** Creates the look-up of registration access tokens. */
export function createAgentOf(records: Pick<Records, "list">): AgentOf {
  return async (token) => {
    const [client] = await records.list(clients, { group: registeredBy(token), limit: 1 });
    return client?.key;
  };
}
