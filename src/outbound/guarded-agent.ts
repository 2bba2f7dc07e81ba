import { isIP, type LookupFunction } from "node:net";
import { Agent, Pool, ProxyAgent } from "undici";
import { createNameLookup, type NameLookup } from "./name-lookup.ts";
import { isReachable, type UrlPolicy } from "./url-policy.ts";

/** How addresses that strangers named are connected to. */
export interface GuardedAgentOptions extends UrlPolicy {
  /** Default: the name servers of the system. */
  readonly lookup?: NameLookup;
  /** Certificates that are trusted in place of the usual ones, PEM. */
  readonly ca?: string;
  /** Longest wait for a connection, in milliseconds. Default: 5 s. */
  readonly connectMs?: number;
}

/** Longest wait for a connection, in milliseconds. */
const CONNECT_MS = 5_000;

/** Every connection is new: one that is kept would outlive what its name stands for. */
const FRESH = { pipelining: 0, allowH2: false } as const;

/**
 * Creates an agent that connects to nothing but what the policy allows. What a name stands for is
 * checked when a connection is made, the very addresses it is made to, so that it cannot be one
 * when it is checked and another when it is used. A host that is an address is not looked up: who
 * uses the agent checks it with `urlFault` before.
 *
 * @param bounds Of connections to one origin, and of bytes of a body.
 */
export function createGuardedAgent(
  { lookup = createNameLookup(), ca, connectMs = CONNECT_MS, ...policy }: GuardedAgentOptions,
  bounds: Pick<Agent.Options, "connections" | "maxResponseSize"> = {},
): Agent {
  return new Agent({
    ...FRESH,
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
 * Creates an agent that connects through a proxy by CONNECT (RFC 9110 section 9.3.6), also for
 * plain HTTP. Names are looked up by the proxy, and so it decides about addresses.
 *
 * @param proxy `http:` or `https:` address, with credentials or without.
 */
export function createProxiedAgent(
  proxy: string,
  { ca, connectMs = CONNECT_MS }: Pick<GuardedAgentOptions, "ca" | "connectMs">,
): ProxyAgent {
  return new ProxyAgent({
    ...FRESH,
    uri: proxy,
    proxyTunnel: true,
    connectTimeout: connectMs,
    requestTls: { allowH2: false, ...(ca !== undefined && { ca }) },
    // A proxy that does not answer would hold its connections for minutes.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: connectMs }),
  });
}

/** One address that may not be asked spoils them all: whoever mixes them wants it to be tried. */
function guardedLookup(lookup: NameLookup, policy: UrlPolicy): LookupFunction {
  const find = async (name: string) => {
    const addresses = await lookup(name);
    if (addresses.length === 0) throw new Error(`${name} has no address.`);
    const bad = addresses.find((address) => !isReachable(address, policy));
    if (bad !== undefined) throw new Error(`${name} stands for ${bad}, which is not public.`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (name, _options, callback) => {
    find(name).then(
      (found) => callback(null, found),
      (error) => callback(error, []),
    );
  };
}
