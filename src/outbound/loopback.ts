/** Host names and addresses of the local machine (RFC 8252 section 7.3). */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/** Whether a host is the local machine. The host must be spelled as in `URL.hostname`. */
export const isLoopbackHost = (host: string): boolean => LOOPBACK_HOSTS.includes(host);

/** Whether a URL is safe from changes on the network path: https, or http on the local machine. */
export const isHttpsOrLoopback = ({ protocol, hostname }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname));
