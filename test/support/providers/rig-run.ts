import { DAY_MS } from "../../../src/lib/day.ts";
import type { Feed } from "../../../src/market/records.ts";
import { beforeWrites, START, type TestStore } from "../stores.ts";
import { drivePolling } from "./drive.ts";
import { contentOf, pollerOf } from "./follow.ts";
import { RIG_INSTRUMENTS, type Rig } from "./rigs.ts";
import { type ProviderServer, startProvider } from "./server.ts";

/** Time of the polls, a Sunday noon: the past week is history, and new data appears on Monday. */
export const NOW = START + DAY_MS;

/** Options that request a provider's short history. */
function optionsOf({ provider, settings, shortMs }: Rig) {
  const instruments = RIG_INSTRUMENTS.filter(({ assetClass }) =>
    provider.classes.includes(assetClass),
  );
  const feeds: ReadonlySet<Feed> = new Set(provider.feeds);
  return { instruments, feeds, historyFrom: NOW - shortMs, settings };
}

/** A provider behind real HTTP, and the pollers of its data. */
export interface RigRun {
  readonly server: ProviderServer;
  /** Starts a poller that writes to the given store; default: the store of the rig. */
  start(on?: TestStore): ReturnType<typeof pollerOf>;
}

/**
 * Starts the server of a rig.
 *
 * @param skew Offset of its clock from the clock of the store, in milliseconds.
 */
export async function runRig(
  rig: Rig,
  store: TestStore,
  skew: () => number = () => 0,
): Promise<RigRun> {
  store.clock.now = Math.max(store.clock.now, NOW);
  const server = await startProvider(rig.serve(), () => store.clock.now + skew());
  const { provider } = rig;
  return {
    server,
    start: (on = store) =>
      pollerOf({ provider, options: optionsOf(rig), origin: server.origin, store: on }),
  };
}

/** The observations that polling in virtual time yields, without HTTP, ingestion and store. */
export function expectedObservationsOf(rig: Rig, until: number): readonly string[] {
  const { data } = drivePolling(rig.provider, rig.serve(), { ...optionsOf(rig), now: NOW, until });
  return sortedObservationTexts(data.map((datum) => ({ ...datum, provider: rig.provider.id })));
}

/** The observations of a rig's provider in the store. */
export const storedObservationsOf = async (
  rig: Rig,
  store: TestStore,
): Promise<readonly string[]> => sortedObservationTexts(await contentOf(store, rig.provider.feeds));

/** Observations as JSON texts, sorted. */
export const sortedObservationTexts = (
  data: Awaited<ReturnType<typeof contentOf>>,
): readonly string[] =>
  data
    .map(({ feed, symbol, at, id, provider, record }) =>
      JSON.stringify([feed, symbol, record.availableAt, at, id, provider, sorted(record)]),
    )
    .sort();

const sorted = (record: object) =>
  Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));

/** The observations that were public at an instant, Unix milliseconds. */
export const publicBy = (data: readonly string[], at: number): readonly string[] =>
  data.filter((datum) => JSON.parse(datum)[2] <= at);

/** Message of the error that simulates the death of a process. */
export const KILLED = "killed";

/**
 * Wraps a store that fails after a number of writes, as if its process had died. Appends and
 * commits both count.
 */
export function storeThatDies(store: TestStore, writes: number): TestStore {
  let left = writes;
  const live = () => {
    if (left-- <= 0) throw new Error(KILLED);
  };
  return beforeWrites(store, { append: live, commit: live });
}

/**
 * Maximum number of requests in any window of the provider's budget.
 *
 * @param asked Instants of the requests, ascending.
 */
export function maxRequestsInWindow(
  { provider: { budget } }: Rig,
  asked: readonly number[],
): number {
  let first = 0;
  let most = 0;
  for (const [index, at] of asked.entries()) {
    while ((asked[first] ?? at) <= at - budget.perMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
