/** Names of one's own machine in an address (RFC 8252 section 7.3). */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host, spelled as `URL.hostname` does, is the machine itself. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK_HOSTS.includes(host);
