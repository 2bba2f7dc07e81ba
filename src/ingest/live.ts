import { join } from "node:path";
import type { Logger } from "pino";
import { DAY_MS } from "../lib/day.ts";
import type { LeaderJob } from "../maintenance/maintenance.ts";
import { FEEDS } from "../market/records.ts";
import { LiveMarket, mentionsKeptFrom } from "../sources/live/live-market.ts";
import type { ProviderOptions } from "../sources/live/provider.ts";
import { providers } from "../sources/live/providers.ts";
import { STALE_MENTION_MS } from "../sources/live/record-book.ts";
import { readUniverse } from "../sources/live/universe.ts";
import { LiveClock, type MarketClock } from "../sources/market-clock.ts";
import type { LiveMarketSettings } from "../sources/open-market.ts";
import type { Archive } from "../store/port/archive.ts";
import type { Store } from "../store/port/store.ts";
import { transact } from "../store/transact.ts";
import {
  openObservationFollower,
  readObservations,
  startFollowing,
} from "./follow-observations.ts";
import { archiveKindOf } from "./market-rows.ts";
import { createPoller } from "./poller.ts";
import { openProviderClient } from "./provider-client.ts";
import { type LiveHealth, readLiveHealth } from "./provider-status.ts";
import { openResponseCache, type ResponseCache } from "./response-cache.ts";
import {
  assignProviders,
  INGEST_SETUP_KEY,
  type IngestSetup,
  ingestSetupOf,
  ingestSetups,
  missingSettings,
  type ProviderAssignment,
} from "./setup.ts";
import { createStreamListener } from "./stream-listener.ts";
import { tracedProviderRequests } from "./traced-requests.ts";

/**
 * Length of the history before the first served session, in milliseconds: enough for a year of
 * returns.
 */
const HISTORY_BEFORE_SERVED_MS = 400 * DAY_MS;

/**
 * Interval of checks for a due request, in milliseconds; provider budgets span a second or longer.
 */
const POLL_EVERY_MS = 500;

/**
 * Archived records are read from this long before the start of the history, in milliseconds: the
 * filings of a year can be dated long before that year.
 */
const EARLIER_MS = 800 * DAY_MS;

/** Dependencies of live markets. */
export interface LiveMarketsOptions {
  readonly store: Pick<Store, "records" | "archive">;
  /** Data directory of this machine. */
  readonly folder: string;
  readonly now: () => number;
  /**
   * A clock that is never adjusted, in Unix milliseconds; if absent, the machine's clock is
   * trusted.
   */
  readonly steady?: (() => number) | undefined;
  readonly log: Logger;
  /** Called with the number of feeds read so far, and the number of all feeds. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** An open live market, with its clock and the jobs that collect its data. */
export interface LiveMarkets {
  readonly market: LiveMarket;
  readonly clock: MarketClock;
  /** Providers and instruments as configured. */
  readonly setup: IngestSetup;
  /** Jobs that poll providers or follow streams; only the leading process runs them. */
  readonly work: readonly LeaderJob[];
  /**
   * When the last observation arrived from a provider whose clock agreed with ours, Unix
   * milliseconds; -Infinity before the first.
   */
  confirmedAt(): number;
  /** Health of the providers. */
  check(): Promise<LiveHealth>;
  close(): Promise<void>;
}

/**
 * Opens live markets. Every process reads past observations from the archive, and follows those
 * that the leading process adds.
 *
 * @throws {Error} If the universe cannot be read.
 */
export async function openLiveMarkets(
  choice: LiveMarketSettings,
  options: LiveMarketsOptions,
): Promise<LiveMarkets> {
  const { store, now, log } = options;
  const { records } = store;
  const instruments = await readUniverse(choice.universe);
  const { settings } = choice;
  const wanted = providers.filter(({ id }) => choice.providers?.includes(id) ?? true);
  const usable = wanted.filter((provider) => missingSettings(provider, settings).length === 0);
  const assigned = assignProviders(usable, instruments);
  const sources = providers.map((one) => [one.id, { ...sourceOf(one), simulated: false }] as const);
  const polled = providers.filter(({ kind }) => kind === "polled").map(({ id }) => id);
  const market = new LiveMarket(instruments, new Map(sources), new Set(polled));
  const historyFrom = market.servedFrom(now()) - HISTORY_BEFORE_SERVED_MS;
  const reading = await followObservations(market, { ...options, historyFrom });
  const setup = ingestSetupOf({ instruments, providers, wanted, assigned, settings });
  await transact(records, (tx) => tx.put(ingestSetups, { key: INGEST_SETUP_KEY, value: setup }));
  const cache = openResponseCache(join(options.folder, "answers"));
  const followers = assigned.map((one) => follow(one, { ...choice, historyFrom, cache }, options));
  return {
    market,
    setup,
    confirmedAt: () => market.confirmedAt,
    clock: new LiveClock({ steady: options.steady, confirmedAt: () => market.confirmedAt }),
    work: followers.map(({ work }) => work),
    check: () => readLiveHealth({ ...store, now }),
    async close() {
      for (const { close } of followers) await close();
      await reading.stop();
      log.debug("live markets are no longer followed");
    },
  };
}

const sourceOf = ({ id, name, terms }: (typeof providers)[number]) => ({ id, name, terms });

/** Live options, and the start of the history in Unix milliseconds. */
type HistoryOptions = LiveMarketsOptions & Pick<ProviderOptions, "historyFrom">;

/** Reads every observation of the archive, then every new observation that any process persists. */
async function followObservations(market: LiveMarket, options: HistoryOptions) {
  const { store, now, log } = options;
  const step = await openObservationFollower({
    archive: store.archive,
    now,
    market,
    onOtherTime: (ms) =>
      log.warn(
        `what another process has just read is ${ms} ms old by the clock of this machine: one of the two clocks is wrong`,
      ),
    takeAll: () => takeAll(market, options),
  });
  return startFollowing(step, {
    records: store.records,
    onError: (error) => log.error({ err: error }, "market data could not be read"),
  });
}

async function takeAll(
  market: LiveMarket,
  { store: { archive }, now, historyFrom, onProgress }: HistoryOptions,
): Promise<void> {
  const earliest = historyFrom - EARLIER_MS;
  for (const [index, feed] of FEEDS.entries()) {
    const from = feed === "mentions" ? await oldestMessageAt(archive, now()) : earliest;
    for await (const page of readObservations(archive, feed, from)) market.take(page);
    onProgress?.(index + 1, FEEDS.length);
  }
}

/**
 * Earliest time at which a message that stays in memory can have been written, Unix milliseconds.
 * Messages are kept by their time of arrival, which is at most `STALE_MENTION_MS` after they were
 * written.
 */
async function oldestMessageAt(archive: Archive, at: number): Promise<number> {
  const newest = { order: "newest", limit: 1 } as const;
  const [row] = await archive.read(archiveKindOf("mentions"), newest);
  return mentionsKeptFrom(at, row?.at ?? at) - STALE_MENTION_MS;
}

/** Dependencies of the poller or listener of one provider. */
type FollowOptions = LiveMarketSettings &
  Pick<ProviderOptions, "historyFrom"> & { readonly cache: ResponseCache };

function follow(
  { provider, instruments, feeds }: ProviderAssignment,
  { historyFrom, settings, origins, cache }: FollowOptions,
  { store: { records, archive }, now }: LiveMarketsOptions,
) {
  const options = { instruments, feeds, historyFrom, settings };
  const common = { records, archive, now, random: Math.random };
  if (provider.kind === "streamed") {
    const listener = createStreamListener({
      ...common,
      provider,
      options,
      origin: origins[provider.id] ?? provider.origin,
    });
    const work = { tick: listener.step, everyMs: POLL_EVERY_MS };
    return { work, close: async () => listener.close() };
  }
  const mirror = origins[provider.id];
  const client = openProviderClient({ origin: provider.origin, mirror, now });
  const series = provider.series(options);
  const { step: tick } = createPoller({
    ...common,
    provider,
    series,
    ask: tracedProviderRequests(provider.id, client.ask),
    cache,
    mirror,
  });
  return { work: { tick, everyMs: POLL_EVERY_MS }, close: client.close };
}
