import { isIP, type LookupFunction } from "node:net";
import { Agent, Pool, ProxyAgent } from "undici";
import { createNameLookup, type NameLookup } from "./name-lookup.ts";
import { isConnectionAllowed } from "./public-address.ts";
import type { UrlPolicy } from "./url-policy.ts";

/** Options of an HTTP agent (undici) that connects to hosts chosen by callers. */
export interface GuardedDispatcherOptions extends UrlPolicy {
  /** Resolves host names. Default: the system's name servers. */
  readonly lookup?: NameLookup;
  /** Certificate authorities in PEM that replace the default ones. */
  readonly ca?: string;
  /** Connect timeout in milliseconds. Default: 5 s. */
  readonly connectMs?: number;
}

/** Default connect timeout, in milliseconds. */
const CONNECT_MS = 5_000;

/**
 * Options that prevent the reuse of connections, because the addresses of a host name can change.
 */
const NO_REUSE = { pipelining: 0, allowH2: false } as const;

/**
 * Creates an HTTP agent that connects only to hosts that the policy allows. A host name is checked
 * by the addresses to which the connection is actually made, which prevents DNS rebinding. IP
 * addresses in URLs are not looked up, so callers must first check the URL with `urlFault`.
 *
 * @param bounds Maximum number of connections to one origin, and maximum body size in bytes.
 */
export function createGuardedDispatcher(
  { lookup = createNameLookup(), ca, connectMs = CONNECT_MS, ...policy }: GuardedDispatcherOptions,
  bounds: { readonly connections?: number; readonly maxResponseSize?: number } = {},
): Agent {
  return new Agent({
    ...NO_REUSE,
    ...bounds,
    connect: {
      timeout: connectMs,
      lookup: guardedLookup(lookup, policy),
      autoSelectFamily: true,
      ...(ca !== undefined && { ca }),
    },
  });
}

/**
 * Creates an HTTP agent that tunnels all requests, including plain HTTP, through a proxy with
 * CONNECT (RFC 9110 section 9.3.6). The proxy resolves host names, so the proxy must filter
 * addresses.
 *
 * @param proxy `http:` or `https:` URL, with or without credentials.
 */
export function createProxiedDispatcher(
  proxy: string,
  { ca, connectMs = CONNECT_MS }: GuardedDispatcherOptions,
): ProxyAgent {
  return new ProxyAgent({
    ...NO_REUSE,
    uri: proxy,
    proxyTunnel: true,
    connectTimeout: connectMs,
    requestTls: { allowH2: false, ...(ca !== undefined && { ca }) },
    // Without a timeout, an unresponsive proxy would keep connections waiting for minutes.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectMs }),
  });
}

/**
 * Creates the DNS lookup for connections. A host name with any forbidden address is rejected,
 * because a mix of allowed and forbidden addresses suggests an attempt to reach the forbidden one.
 */
function guardedLookup(lookup: NameLookup, policy: UrlPolicy): LookupFunction {
  const find = async (name: string) => {
    const addresses = await lookup(name);
    if (addresses.length === 0) throw new Error(`${name} has no address.`);
    const bad = addresses.find((address) => !isConnectionAllowed(address, policy));
    if (bad !== undefined) throw new Error(`${name} resolves to ${bad}, which is not public.`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (name, _options, callback) => {
    find(name).then(
      (found) => callback(null, found),
      (error) => callback(error, []),
    );
  };
}
