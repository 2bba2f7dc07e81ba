/** Names of one's own machine in an address (RFC 8252 section 7.3). */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host, spelled as `URL.hostname` does, is the machine itself. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK_HOSTS.includes(host);

/** Whether nobody on the network can change what is fetched from a URL: https, or http on the machine
 *  itself. */
export const isHttpsOrLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
