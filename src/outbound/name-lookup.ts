import { Resolver } from "node:dns/promises";

/** Finds the addresses of a name; rejects or finds none when there are none. */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** How long a name server may take, in milliseconds, and how often it is asked. */
const PATIENCE = { timeout: 2000, tries: 2 };

/**
 * Asks name servers only. The lookup of the system would also know the machine's own names and
 * take one of the few threads for each name, so that strangers could name slow ones and stop the
 * disk.
 *
 * @param servers Addresses, with a port or without. Default: those that the system is set to.
 */
export function createNameLookup(servers?: readonly string[]): NameLookup {
  const resolver = new Resolver(PATIENCE);
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
