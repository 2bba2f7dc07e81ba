import { firstDueRequest, loadPollerState } from "../../../src/ingest/poller-state.ts";
import { assignProviders } from "../../../src/ingest/setup.ts";
import type { Instrument } from "../../../src/market/instrument.ts";
import { providers } from "../../../src/sources/live/providers.ts";
import type { Records } from "../../../src/store/port/records.ts";
import type { Serve } from "./drive.ts";
import { RIG_INSTRUMENTS, rigsFor } from "./rigs.ts";
import { type ProviderServer, startProvider } from "./server.ts";

/** A provider's simulated server that records the requests. */
export interface RememberingServer extends ProviderServer {
  /** Path and query of the answered requests, in order. */
  readonly addresses: readonly string[];
}

/** Simulated servers of some providers; they stop after the test. */
export interface ServedProviders {
  /** Settings with which the service follows only these providers. */
  readonly env: Readonly<Record<string, string>>;
  /** The server of a provider. @throws {Error} When the provider is not served. */
  server(id: string): RememberingServer;
  /**
   * Ids of the providers from which a service still has something to request, according to the
   * progress in its store.
   */
  due(records: Records): Promise<readonly string[]>;
}

/** Options of the simulated servers. */
interface ServedWorld {
  /** Ids of the polled providers. */
  readonly ids: readonly string[];
  /** Unix milliseconds. */
  readonly now: () => number;
  /** Followed symbols; default: a few stocks and coins. */
  readonly symbols?: readonly string[];
  /** Origins of further followed providers, by id. */
  readonly others?: Readonly<Record<string, string>>;
}

/** Starts the simulated servers of some providers. */
export async function serveProviders({ ids, now, symbols, others = {} }: ServedWorld) {
  const instruments = RIG_INSTRUMENTS.filter(({ symbol }) => symbols?.includes(symbol) ?? true);
  const rigs = rigsFor(instruments).filter(({ provider }) => ids.includes(provider.id));
  const started = rigs.map(
    async ({ provider, serve }) => [provider.id, await remembering(serve(), now)] as const,
  );
  const servers = new Map(await Promise.all(started));
  const origins = Object.entries({
    ...Object.fromEntries([...servers].map(([id, { origin }]) => [id, origin])),
    ...others,
  });
  const settings: Readonly<Record<string, string>> = Object.assign(
    {},
    ...rigs.map((rig) => rig.settings),
  );
  return {
    env: {
      MARKET: "live",
      UNIVERSE: spelled(instruments),
      PROVIDERS: origins.map(([id]) => id).join(" "),
      PROVIDER_URLS: origins.map(([id, origin]) => `${id}=${origin}`).join(" "),
      ...settings,
    },
    server(id) {
      const found = servers.get(id);
      if (found === undefined) throw new Error(`${id} is not served`);
      return found;
    },
    async due(records) {
      const served = providers.filter(({ id }) => servers.has(id));
      const due = assignProviders(served, instruments).map(async ({ provider, ...use }) => {
        if (provider.kind === "streamed") return [];
        const series = provider.series({ ...use, historyFrom: 0, settings });
        const progress = await loadPollerState({ provider, series, records, now }, undefined);
        return firstDueRequest(progress.series, now()) === undefined ? [] : [provider.id];
      });
      return (await Promise.all(due)).flat();
    },
  } satisfies ServedProviders;
}

const spelled = (instruments: readonly Instrument[]) =>
  instruments.map(({ symbol }) => symbol).join(" ");

async function remembering(serve: Serve, now: () => number): Promise<RememberingServer> {
  const addresses: string[] = [];
  const server = await startProvider((request, at) => {
    addresses.push(request.url.pathname + request.url.search);
    return serve(request, at);
  }, now);
  return { ...server, addresses };
}

/** Settings in which every provider has an address where no server listens. */
export const unreachable = (port: string): Readonly<Record<string, string>> => ({
  MARKET: "live",
  PROVIDER_URLS: providers
    .map(({ id, kind }) => `${id}=${kind === "polled" ? "http" : "ws"}://127.0.0.1:${port}`)
    .join(" "),
});
