import { Resolver } from "node:dns/promises";

/**
 * Resolves a host name to its IP addresses. If the name has no address, the promise is rejected or
 * resolves to an empty list.
 */
export type NameLookup = (name: string) => Promise<readonly string[]>;

/** Timeout of a DNS query in milliseconds, and maximum number of tries. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Creates a lookup that uses DNS queries only. getaddrinfo(3) would also resolve local names, and
 * it occupies a thread of the libuv pool for each query, so that names with slow servers could
 * block file access.
 *
 * @param servers IP addresses of name servers, with or without a port. Default: the system's name
 * servers.
 */
export function createNameLookup(servers?: readonly string[]): NameLookup {
  const resolver = new Resolver(RESOLVER);
  if (servers !== undefined) resolver.setServers(servers);
  return async (name) => {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  };
}
