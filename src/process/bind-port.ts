import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Config } from "../config/config.ts";

/** Addresses that stand for all addresses of the machine, each with one by which it is reached. */
const WILDCARD_ADDRESSES: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "[::1]"],
]);

/** Where the public signing keys of a process are. They tell stores apart: each has its own. */
const KEYS_PATH = "/.well-known/jwks.json";

/** A process that shares the port may be busy, or just letting go of it: so often it is asked, with
 *  a pause in between and a wait for its answer, both in milliseconds. */
const ASKING = { times: 3, pauseMs: 1_000, waitMs: 2_000 };

/** Connections that may wait to be accepted, unless the system allows fewer: Node.js accepts one in a
 *  turn of its event loop, and one that finds no room tries again only after a second. */
const MAX_PENDING = 4_096;

/** What of the settings says where the service is. */
type Place = Pick<Config, "host" | "port" | "baseUrl" | "store">;

/**
 * Whether other processes may serve the same port: on PostgreSQL, where several belong together,
 * and at a port that was chosen. Then a process lets nobody in before it is ready, since the others
 * would have answered.
 */
export function isPortShared({ port, store }: Place): boolean {
  return store.databaseUrl !== undefined && port !== 0;
}

/**
 * Listens, alone.
 *
 * @throws {Error} When the port is taken, or the address is none that could be published.
 */
export async function listenExclusively(server: Server, place: Place): Promise<void> {
  await refuseUnpublishable(place);
  await listenAt(server, place);
}

/**
 * Listens beside the processes that serve the same store, if there are any; the system hands each
 * connection to one of them. Where it cannot, listens alone.
 *
 * @param keyIds Ids of the public signing keys of the store.
 * @throws {Error} When the port is taken by something else, or the address is none that could be
 *   published.
 */
export async function listenShared(
  server: Server,
  place: Place,
  keyIds: readonly string[],
): Promise<void> {
  await refuseUnpublishable(place);
  await refuseStrangers(place, keyIds);
  // Elsewhere Node.js refuses, or the last process to come gets everything.
  await listenAt(server, { ...place, reusePort: process.platform === "linux" });
}

/** The public origin, without a trailing slash; it needs the server's port when none is configured. */
export function originOf(server: Server, { host, port, baseUrl }: Place): string {
  const actualPort = (server.address() as AddressInfo | null)?.port ?? port;
  const authority = host.includes(":") ? `[${host}]` : host;
  return baseUrl ?? `http://${authority}:${actualPort}`;
}

async function listenAt(
  server: Server,
  { host, port, reusePort = false }: Place & { readonly reusePort?: boolean },
): Promise<void> {
  server.listen({ host, port, reusePort, backlog: MAX_PENDING });
  await once(server, "listening");
}

async function refuseUnpublishable({ host, baseUrl }: Place): Promise<void> {
  const { address } = await lookup(host);
  if (baseUrl !== undefined || !WILDCARD_ADDRESSES.has(address)) return;
  throw new Error(`HOST: ${host} is no address to publish; set BASE_URL with it.`);
}

/**
 * A port that one program shares, any other of the same user can share, and then each gets a part of
 * the requests. So whoever is there has to show that it serves the same store.
 */
async function refuseStrangers(place: Place, keyIds: readonly string[]): Promise<void> {
  for (let time = 1; ; time++) {
    const found = await keysAt(await keysUrl(place));
    if (found === "nobody") return;
    if (found !== "unclear") {
      if (found.some((id) => keyIds.includes(id))) return;
      throw new Error(`PORT: ${place.port} is taken by a program that serves another store.`);
    }
    if (time === ASKING.times) {
      throw new Error(
        `PORT: ${place.port} is taken by a program that does not say what it serves.`,
      );
    }
    await pause(ASKING.pauseMs);
  }
}

async function keysUrl({ host, port }: Place): Promise<string> {
  const { address, family } = await lookup(host);
  const plain = family === 6 ? `[${address}]` : address;
  return `http://${WILDCARD_ADDRESSES.get(address) ?? plain}:${port}${KEYS_PATH}`;
}

/** The ids of the keys that are published at an address. */
async function keysAt(url: string): Promise<"nobody" | "unclear" | readonly string[]> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(ASKING.waitMs) });
    if (!answer.ok) return "unclear";
    const { keys } = (await answer.json()) as {
      readonly keys: readonly { readonly kid: string }[];
    };
    return keys.map(({ kid }) => kid);
  } catch (error) {
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
    return code === "ECONNREFUSED" ? "nobody" : "unclear";
  }
}
