import { readObservations } from "../../../src/ingest/follow-observations.ts";
import { REJECTED_ARCHIVE_KIND, type RejectedBody } from "../../../src/ingest/market-rows.ts";
import { createPoller, type Poller } from "../../../src/ingest/poller.ts";
import { openProviderClient } from "../../../src/ingest/provider-client.ts";
import type { ResponseCache } from "../../../src/ingest/response-cache.ts";
import type { Feed } from "../../../src/market/records.ts";
import type { PolledProvider, ProviderOptions } from "../../../src/sources/live/provider.ts";
import type { ReceivedObservation } from "../../../src/sources/live/record-book.ts";
import type { TestStore } from "../stores.ts";

/** Short timeouts, in milliseconds, so that tests wait little for a silent provider. */
const PATIENCE = { totalMs: 2_000, silenceMs: 250 };

/** A provider with its options, its origin and the store for its data. */
export interface FollowedProvider {
  readonly provider: PolledProvider;
  readonly options: ProviderOptions;
  /** Origin of the provider's simulated server. */
  readonly origin: string;
  readonly store: TestStore;
  /** Absent: no cache. */
  readonly cache?: ResponseCache;
}

/** Creates a poller over real HTTP, on the clock of the store. */
export function pollerOf({ provider, options, origin, store, cache }: FollowedProvider): Poller {
  const { records, archive, clock } = store;
  const now = () => clock.now;
  const { ask } = openProviderClient({
    origin: provider.origin,
    mirror: origin,
    now,
    patience: PATIENCE,
  });
  const series = provider.series(options);
  return createPoller({
    ...{ provider, series, ask, cache, records, archive, now, random: () => 0.5 },
  });
}

/**
 * Polls in virtual time until nothing is due before an instant.
 *
 * @param mostSteps Number of requests after which to stop, as if killed.
 * @returns Number of sent requests.
 */
export async function followProvider(
  poller: Poller,
  clock: { now: number },
  until: number,
  mostSteps = Number.POSITIVE_INFINITY,
): Promise<number> {
  let asked = 0;
  while (asked < mostSteps) {
    if ((await poller.step()) > 0) {
      asked++;
      continue;
    }
    const next = poller.nextAt();
    if (next > until) return asked;
    clock.now = Math.max(clock.now + 1, next);
  }
  return asked;
}

/** All stored data of some feeds, without the time of observation. */
export async function contentOf({ archive }: TestStore, feeds: Iterable<Feed>) {
  const content: Omit<ReceivedObservation, "observedAt">[] = [];
  for (const feed of feeds) {
    for await (const page of readObservations(archive, feed, 0)) {
      content.push(...page.map(({ observedAt: _, ...one }) => one));
    }
  }
  return content;
}

/** The quarantined records with their reasons. */
export const rejectedObservationsIn = async ({ archive }: TestStore) =>
  (await archive.read(REJECTED_ARCHIVE_KIND, { order: "oldest", limit: 1_000 })).map(({ body }) => {
    const { symbol, reason } = body as RejectedBody;
    return { symbol, reason };
  });
