import { DAY_MS } from "../lib/day.ts";
import type { Archive } from "../store/port/archive.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Records } from "../store/port/records.ts";
import { REJECTED_ARCHIVE_KIND, type RejectedBody } from "./market-rows.ts";
import {
  NEW_PROVIDER_PROGRESS,
  NEW_SERIES_PROGRESS,
  type ProviderProgress,
  providerProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "./provider-progress.ts";
import { INGEST_SETUP_KEY, type IngestSetup, ingestSetups, type ProviderSetup } from "./setup.ts";

/** Maximum age at which quarantined observations are counted, in milliseconds. */
const REJECTED_WITHIN_MS = 30 * DAY_MS;

/** Maximum number of quarantined observations that are counted and shown. */
const MAX_REJECTED = 1_000;

/**
 * Number of milliseconds without a request after which a series counts as no longer polled: every
 * series is due more often, even during holidays.
 */
const FOLLOWED_WITHIN_MS = 7 * DAY_MS;

/**
 * Number of milliseconds without progress after which a stream counts as disconnected: it has
 * messages every second, and its position is saved every few seconds.
 */
const HEARD_WITHIN_MS = 5 * 60_000;

/** Status of one provider. */
interface ProviderStatus extends ProviderSetup {
  readonly progress: ProviderProgress;
  /** Number of requests that the budget allows now; `null` for a stream. */
  readonly budgetLeft: number | null;
}

/** Status of one provider with its series and its quarantine. */
export interface ProviderReport extends ProviderStatus {
  /** Failing series; those with the most consecutive malformed answers come first. */
  readonly failingSeries: readonly {
    readonly key: string;
    /** Number of consecutive malformed answers. */
    readonly failures: number;
    /** Fault of the last malformed answer. */
    readonly fault: string;
  }[];
  /** Symbols that the provider does not know. */
  readonly unknown: readonly string[];
  /** Observations quarantined in the last 30 days, newest first. */
  readonly rejected: readonly RejectedBody[];
}

/** Status of all providers. */
export interface IngestReport extends Omit<IngestSetup, "providers"> {
  readonly providers: readonly ProviderReport[];
}

/** Dependencies of `providerStatuses` and `readLiveHealth`. */
interface ProviderStatusOptions {
  readonly records: Records;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

/** Dependencies of `readIngestReport`. */
interface IngestReportOptions extends ProviderStatusOptions {
  readonly records: Records;
  readonly archive: Archive;
}

/**
 * Status of every provider, without its series and its quarantine, so that few reads are needed.
 *
 * @returns `undefined` if there never was a live market.
 */
export async function providerStatuses({ records, now }: ProviderStatusOptions) {
  const setup = await records.get(ingestSetups, INGEST_SETUP_KEY);
  if (setup === undefined) return undefined;
  const statuses = setup.value.providers.map(async (one): Promise<ProviderStatus> => {
    const progress = (await records.get(providerProgress, one.id))?.value ?? NEW_PROVIDER_PROGRESS;
    return { ...one, progress, budgetLeft: leftOf(one, progress, now()) };
  });
  return { ...setup.value, providers: await Promise.all(statuses) };
}

/**
 * Reports on every provider.
 *
 * @returns `undefined` if there never was a live market.
 */
export async function readIngestReport(
  options: IngestReportOptions,
): Promise<IngestReport | undefined> {
  const { archive, now } = options;
  const statuses = await providerStatuses(options);
  if (statuses === undefined) return undefined;
  const since = { from: now() - REJECTED_WITHIN_MS, order: "newest", limit: MAX_REJECTED } as const;
  const rejected = (await archive.read(REJECTED_ARCHIVE_KIND, since)).map(
    ({ body }) => body as RejectedBody,
  );
  const reports = statuses.providers.map(async (one) => ({
    ...one,
    ...(await seriesOf(one, options)),
    rejected: rejected.filter(({ provider }) => provider === one.id),
  }));
  return { ...statuses, providers: await Promise.all(reports) };
}

/** The last fault; `null` if the provider has answered since. */
export function currentFault({ progress }: ProviderStatus): ProviderProgress["lastFault"] {
  const { lastFault, lastSuccessAt, failures } = progress;
  if (lastFault === null) return null;
  return failures > 0 || lastFault.at > (lastSuccessAt ?? 0) ? lastFault : null;
}

/**
 * Whether a provider that has answered before has been silent for longer than normal: 7 days, or 5
 * minutes for a stream.
 */
export function isSilent({ progress, budget }: ProviderStatus, now: number): boolean {
  const within = budget === null ? HEARD_WITHIN_MS : FOLLOWED_WITHIN_MS;
  return progress.lastSuccessAt !== null && now - progress.lastSuccessAt > within;
}

async function seriesOf(
  { id }: ProviderStatus,
  { records, now }: IngestReportOptions,
): Promise<Pick<ProviderReport, "failingSeries" | "unknown">> {
  const stored = await readAll(records, seriesProgress, seriesGroup(id));
  const followed = stored
    .map(({ key, value }) => ({ key, ...NEW_SERIES_PROGRESS, ...value }))
    .filter(({ askedAt }) => askedAt > now() - FOLLOWED_WITHIN_MS);
  const failing = followed.filter(({ failures }) => failures > 0);
  return {
    failingSeries: failing
      .sort((one, other) => other.failures - one.failures)
      .map(({ key, failures, fault }) => ({
        key: key.slice(seriesKey(id, "").length),
        failures,
        fault: fault ?? "",
      })),
    unknown: [...new Set(followed.flatMap(({ unknown }) => unknown))].sort(),
  };
}

function leftOf({ budget }: ProviderSetup, { sentAt }: ProviderProgress, now: number) {
  if (budget === null) return null;
  return budget.requests - sentAt.filter((at) => at + budget.perMs > now).length;
}

/** Health of a live market. */
export interface LiveHealth {
  /** Whether there has ever been an observation. */
  readonly ok: boolean;
  /** Whether at least one provider answers now. */
  readonly isAnswered: boolean;
  /** How many providers answer, and a clause for each provider that does not. */
  readonly detail: string;
}

/** Health of the live market. The result is public, so it contains no text that a provider sent. */
export async function readLiveHealth(options: ProviderStatusOptions): Promise<LiveHealth> {
  const { providers = [] } = (await providerStatuses(options)) ?? {};
  const wanted = providers.filter(({ feeds }) => feeds.length > 0);
  const faults = wanted.flatMap((one) => {
    const fault = currentFault(one);
    if (fault !== null) return [`${one.id}: ${fault.kind}`];
    return one.progress.lastSuccessAt === null ? [`${one.id}: no answer yet`] : [];
  });
  const lacks = providers
    .filter(({ missing }) => wanted.length === 0 && missing.length > 0)
    .map(({ id, missing }) => `${id} needs ${missing.join(", ")}`);
  const well = wanted.length - faults.length;
  return {
    ok: wanted.some(({ progress }) => progress.newestAt !== null),
    isAnswered: well > 0,
    detail: [`${well} of ${wanted.length} providers answer`, ...faults, ...lacks].join("; "),
  };
}
