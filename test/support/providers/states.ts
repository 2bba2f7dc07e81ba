import { rejectedRow } from "../../../src/ingest/market-rows.ts";
import {
  NEW_PROVIDER_PROGRESS,
  NEW_SERIES_PROGRESS,
  type ProviderProgress,
  providerProgress,
  type SeriesProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "../../../src/ingest/provider-progress.ts";
import { INGEST_SETUP_KEY, ingestSetups, type ProviderSetup } from "../../../src/ingest/setup.ts";
import { put } from "../../../src/store/port/operations.ts";
import { model, openStore, START, type TestStore } from "../stores.ts";

/** A provider with default settings. */
export const providerSetup = (id: string, changes: Partial<ProviderSetup> = {}): ProviderSetup => ({
  ...{ id, name: id.toUpperCase(), missing: [], feeds: ["bars"], isForOwnUse: false },
  ...{ budget: { requests: 10, perMs: 60_000 }, ...changes },
});

/** Progress of a provider that currently answers. */
export const answeringProgress: Partial<ProviderProgress> = {
  ...{ lastSuccessAt: START - 90_000, newestAt: START - 7_200_000 },
  sentAt: [START - 70_000, START - 50_000, START - 10_000],
};

/** Progress with a fault that happened `seconds` before `START`. */
export const faultOf = (seconds: number): Pick<ProviderProgress, "lastFault"> => ({
  lastFault: { at: START - seconds * 1_000, kind: "failing", text: "answered 500" },
});

/**
 * Creates a store with the setup of live markets and the progress of its providers.
 *
 * @param progress Progress by provider id.
 */
export async function followedStore(
  providers: readonly ProviderSetup[],
  progress: Readonly<Record<string, Partial<ProviderProgress>>> = {},
): Promise<TestStore> {
  const store = await openStore(model);
  const setup = { instruments: 39, unpriced: 27, providers };
  await store.records.commit([
    put(ingestSetups, { key: INGEST_SETUP_KEY, value: setup }),
    ...Object.entries(progress).map(([key, value]) =>
      put(providerProgress, { key, value: { ...NEW_PROVIDER_PROGRESS, ...value } }),
    ),
  ]);
  return store;
}

/** Adds a quarantined bar of a provider, some days before `START`. */
export async function quarantineBar(
  { archive }: TestStore,
  { id, days, reason }: { readonly id: string; readonly days: number; readonly reason: string },
): Promise<void> {
  const at = START - days * 86_400_000;
  const rejected = { symbol: "AAA", feed: "bars", at, id: `${days}`, reason } as const;
  await archive.append([rejectedRow(rejected, { provider: id, observedAt: at })]);
}

/** Stores the progress of a provider's series, which were polled a minute before `START`. */
export async function notedSeries(
  { records }: TestStore,
  id: string,
  all: Readonly<Record<string, Partial<SeriesProgress>>>,
): Promise<void> {
  const operations = Object.entries(all).map(([series, changes]) => {
    const value = { ...NEW_SERIES_PROGRESS, askedAt: START - 60_000, ...changes };
    return put(seriesProgress, { key: seriesKey(id, series), value, groups: [seriesGroup(id)] });
  });
  await records.commit(operations);
}
