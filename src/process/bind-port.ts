import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { readWholeBody } from "../outbound/whole-body.ts";

/** Wildcard addresses, each with a loopback address through which the same port is reachable. */
const WILDCARD_ADDRESSES: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
]);

/**
 * Path of the public signing keys, which identify a store, because every store has its own keys.
 */
const KEYS_PATH = "/.well-known/jwks.json";

/**
 * Number of attempts to read the keys of the process that listens on the port; the process may be
 * busy or about to release the port.
 */
const KEY_ATTEMPTS = 3;

/** Pause between two attempts to read the keys, in milliseconds. */
const KEY_PAUSE_MS = 1_000;

/** Timeout of one attempt to read the keys, in milliseconds. */
const KEY_TIMEOUT_MS = 2_000;

/** Maximum size of the response with the keys, in bytes; a key has some hundred. */
const MAX_KEYS_BYTES = 64 * 1024;

/**
 * Length of the accept queue (backlog); the system may impose a lower limit. Node.js accepts one
 * connection per turn of its event loop, and a client that finds the queue full retries only after
 * a second.
 */
const BACKLOG = 4_096;

/**
 * Whether several processes may listen on the port: processes that share one PostgreSQL database
 * and use a fixed port. Such a process does not listen until it is ready, because the other
 * processes serve until then.
 */
export function isPortShared({ port, store }: Config): boolean {
  return store.databaseUrl !== undefined && port !== 0;
}

/**
 * Binds the port for this process alone.
 *
 * @throws {Error} When the port is in use, or HOST is a wildcard address and BASE_URL is absent.
 */
export async function listenExclusively(server: Server, config: Config): Promise<void> {
  await refuseUnpublishable(config);
  await listenAt(server, config);
}

/**
 * Binds the port together with other processes on the same store; on Linux, the system distributes
 * connections among them (SO_REUSEPORT). On other systems, binds the port for this process alone.
 *
 * @param keyIds Ids of the public signing keys of the store.
 * @throws {Error} When another program uses the port, or HOST is a wildcard address and BASE_URL is
 * absent.
 */
export async function listenShared(
  server: Server,
  config: Config,
  keyIds: readonly string[],
): Promise<void> {
  await refuseUnpublishable(config);
  await refuseOtherStores(config, keyIds);
  // Other systems reject the option, or give every connection to the process that bound last.
  await listenAt(server, { ...config, reusePort: process.platform === "linux" });
}

/** The public origin, without a trailing slash. Without BASE_URL, it contains the bound port. */
export function originOf(server: Server, { host, port, baseUrl }: Config): string {
  const actualPort = (server.address() as AddressInfo | null)?.port ?? port;
  const authority = host.includes(":") ? `[${host}]` : host;
  return baseUrl ?? `http://${authority}:${actualPort}`;
}

async function listenAt(
  server: Server,
  { host, port, reusePort = false }: Config & { readonly reusePort?: boolean },
): Promise<void> {
  server.listen({ host, port, reusePort, backlog: BACKLOG });
  try {
    await once(server, "listening");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const reason = BIND_FAULTS[code]?.({ host, port });
    throw reason === undefined ? error : new Error(reason, { cause: error });
  }
}

/** What to do when an address cannot be bound, by the error code of the system. */
const BIND_FAULTS: Readonly<Record<string, (at: Pick<Config, "host" | "port">) => string>> = {
  EADDRINUSE: ({ port }) =>
    `PORT: ${port} is taken by another process (EADDRINUSE); set PORT or stop the other process.`,
  EACCES: ({ port }) =>
    `PORT: this user may not listen on ${port} (EACCES); set PORT to 1024 or more, with a proxy in front.`,
  EADDRNOTAVAIL: ({ host }) =>
    `HOST: ${host} is no address of this machine (EADDRNOTAVAIL); set HOST to one of its own, or to 127.0.0.1.`,
};

/** Finds the address of HOST. @throws {Error} When it has none. */
async function addressOf(host: string) {
  try {
    return await lookup(host);
  } catch (cause) {
    throw new Error(`HOST: ${host} cannot be resolved; set HOST to an address of this machine.`, {
      cause,
    });
  }
}

async function refuseUnpublishable({ host, baseUrl }: Config): Promise<void> {
  const { address } = await addressOf(host);
  if (baseUrl !== undefined || !WILDCARD_ADDRESSES.has(address)) return;
  throw new Error(
    `HOST: ${host} is a wildcard address, which cannot be published; set BASE_URL as well.`,
  );
}

/**
 * Throws unless the process that already listens on the port publishes the keys of the same store.
 * Any program of the same user can bind a shared port and would then get part of the requests.
 */
async function refuseOtherStores(config: Config, keyIds: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const found = await keysAt(await keysUrl(config));
    if (found === "none") return;
    if (found !== "unclear") {
      if (found.some((id) => keyIds.includes(id))) return;
      throw new Error(`PORT: ${config.port} is taken by a program that serves another store.`);
    }
    if (attempt === KEY_ATTEMPTS) {
      throw new Error(
        `PORT: ${config.port} is taken by a program that does not publish the keys of its store.`,
      );
    }
    await pause(KEY_PAUSE_MS);
  }
}

async function keysUrl({ host, port }: Config): Promise<string> {
  const { address, family } = await addressOf(host);
  const plain = family === 6 ? `[${address}]` : address;
  return `http://${WILDCARD_ADDRESSES.get(address) ?? plain}:${port}${KEYS_PATH}`;
}

/**
 * Ids of the keys published at a URL; `none` when nothing listens there, `unclear` when the
 * response is not a key set.
 */
async function keysAt(url: string): Promise<"none" | "unclear" | readonly string[]> {
  try {
    const signal = AbortSignal.timeout(KEY_TIMEOUT_MS);
    const answer = await fetch(url, { redirect: "error", signal });
    if (!answer.ok) return "unclear";
    const body = await readWholeBody(answer.body ?? [], MAX_KEYS_BYTES);
    const { keys } = JSON.parse(String(body)) as {
      readonly keys: readonly { readonly kid: string }[];
    };
    return keys.map(({ kid }) => kid);
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    return code === "ECONNREFUSED" ? "none" : "unclear";
  }
}
