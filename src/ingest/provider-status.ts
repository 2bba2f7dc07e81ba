import type { Archive } from "../store/port/archive.ts";
import { readAll } from "../store/port/read-all.ts";
import type { Records } from "../store/port/records.ts";
import { REJECTED_KIND, type RejectedBody } from "./market-rows.ts";
import {
  NEW_PROVIDER,
  NEW_SERIES,
  type ProviderProgress,
  providerProgress,
  seriesGroup,
  seriesKey,
  seriesProgress,
} from "./progress.ts";
import { type ProviderSetup, SETUP_KEY, type Setup, setups } from "./setup.ts";

const DAY_MS = 86_400_000;

/** How far back rejected data are counted, in milliseconds. */
const REJECTED_WITHIN_MS = 30 * DAY_MS;

/** Rejected data that are counted and shown at most. */
const MAX_REJECTED = 1_000;

/** A series that was not asked for this long is not followed any more: all come round sooner, also
 *  over holidays. In milliseconds. */
const FOLLOWED_WITHIN_MS = 7 * DAY_MS;

/** A stream tells something every second, and where it stands is noted every few; after so long
 *  nobody follows it any more. In milliseconds. */
const HEARD_WITHIN_MS = 5 * 60_000;

/** How one provider is doing as a whole. */
export interface ProviderStatus extends ProviderSetup {
  readonly progress: ProviderProgress;
  /** Requests that may go out now; `null` for a stream. */
  readonly budgetLeft: number | null;
}

/** A series whose answers cannot be read. */
interface FailingSeries {
  readonly key: string;
  /** Answers in a row. */
  readonly failures: number;
  /** What was wrong with the last of them. */
  readonly fault: string;
}

/** How one provider is doing, with all that the operator wants to know. */
export interface ProviderReport extends ProviderStatus {
  /** The longest failing first. */
  readonly failingSeries: readonly FailingSeries[];
  /** Symbols that it says it does not have. */
  readonly unknown: readonly string[];
  /** Data set apart in the last 30 days, the newest first. */
  readonly rejected: readonly RejectedBody[];
}

/** How all providers are doing. */
export interface IngestReport extends Omit<Setup, "providers"> {
  readonly providers: readonly ProviderReport[];
}

/** Where the state of the ingest is. */
export interface StatusOptions {
  readonly records: Pick<Records, "get">;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Where all that is reported on is. */
export interface ReportOptions extends StatusOptions {
  readonly records: Records;
  readonly archive: Pick<Archive, "read">;
}

/** The standing of every provider; a few reads. @returns `undefined` where no live market was ever
 *  followed. */
export async function providerStatuses({ records, now }: StatusOptions) {
  const setup = await records.get(setups, SETUP_KEY);
  if (setup === undefined) return undefined;
  const standings = setup.value.providers.map(async (one): Promise<ProviderStatus> => {
    const progress = (await records.get(providerProgress, one.id))?.value ?? NEW_PROVIDER;
    return { ...one, progress, budgetLeft: leftOf(one, progress, now()) };
  });
  return { ...setup.value, providers: await Promise.all(standings) };
}

/** Reports on every provider. @returns `undefined` where no live market was ever followed. */
export async function reportOf(options: ReportOptions): Promise<IngestReport | undefined> {
  const { archive, now } = options;
  const standings = await providerStatuses(options);
  if (standings === undefined) return undefined;
  const since = { from: now() - REJECTED_WITHIN_MS, order: "newest", limit: MAX_REJECTED } as const;
  const rejected = (await archive.read(REJECTED_KIND, since)).map(
    ({ body }) => body as RejectedBody,
  );
  const reports = standings.providers.map(async (one) => ({
    ...one,
    ...(await seriesOf(one, options)),
    rejected: rejected.filter(({ provider }) => provider === one.id),
  }));
  return { ...standings, providers: await Promise.all(reports) };
}

/** The fault that stands, `null` when the provider has answered since. */
export function faultIn({ progress }: ProviderStatus): ProviderProgress["lastFault"] {
  const { lastFault, lastSuccessAt, failures } = progress;
  if (lastFault === null) return null;
  return failures > 0 || lastFault.at > (lastSuccessAt ?? 0) ? lastFault : null;
}

/** Whether a provider that answered once has stood still for longer than it can by itself. */
export function isSilent({ progress, budget }: ProviderStatus, now: number): boolean {
  const within = budget === null ? HEARD_WITHIN_MS : FOLLOWED_WITHIN_MS;
  return progress.lastSuccessAt !== null && now - progress.lastSuccessAt > within;
}

async function seriesOf(
  { id }: ProviderStatus,
  { records, now }: ReportOptions,
): Promise<Pick<ProviderReport, "failingSeries" | "unknown">> {
  const stored = await readAll(records, seriesProgress, seriesGroup(id));
  const followed = stored
    .map(({ key, value }) => ({ key, ...NEW_SERIES, ...value }))
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

/** What is missing in a live market. */
export interface Shortcomings {
  /** Whether any provider ever gave something. */
  readonly ok: boolean;
  /** Whether any provider gives what is wanted of it now. */
  readonly isAnswered: boolean;
  /** One clause for each provider that does not give what is wanted of it. */
  readonly detail: string;
}

/** Says which providers do not give what is wanted of them. Strangers may read it: nothing that a
 *  provider has sent is in it. */
export async function shortcomings(options: StatusOptions): Promise<Shortcomings> {
  const { providers = [] } = (await providerStatuses(options)) ?? {};
  const wanted = providers.filter(({ feeds }) => feeds.length > 0);
  const faults = wanted.flatMap((one) => {
    const fault = faultIn(one);
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
