import { Resolver } from "node:dns/promises";

/** Resolves a name to its addresses; rejects, or returns none, if it has none. */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** Timeout of a query in milliseconds, and maximum number of queries. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Creates a lookup that uses DNS queries only. getaddrinfo(3) would also resolve local names, and
 * occupies a thread of the pool for each query, so that names with slow servers could block disk
 * access.
 *
 * @param servers Addresses, with or without a port. Default: the name servers of the system.
 */
export function createNameLookup(servers?: readonly string[]): NameLookup {
  const resolver = new Resolver(RESOLVER);
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
