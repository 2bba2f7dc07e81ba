import type { AssetClass, Instrument } from "../market/instrument.ts";
import type { Feed } from "../market/records.ts";
import type { Provider } from "../sources/live/provider.ts";
import { collection } from "../store/port/records.ts";
/** A provider with what is wanted of it. */
export interface Assignment {
  readonly provider: Provider;
  readonly instruments: readonly Instrument[];
  readonly feeds: ReadonlySet<Feed>;
}

/** Messages of several places add up; of everything else there is one truth, and one is asked. */
const isShared = (feed: Feed): boolean => feed === "mentions";

/**
 * Who is asked for what: for each feed and class of instruments the first provider that has it.
 *
 * @param providers Those that can be used, the preferred first.
 */
export function assignProviders(
  providers: readonly Provider[],
  instruments: readonly Instrument[],
): readonly Assignment[] {
  const taken = new Set<string>();
  const take = (feed: Feed, assetClass: AssetClass): boolean => {
    const place = `${feed} ${assetClass}`;
    const isFree = isShared(feed) || !taken.has(place);
    taken.add(place);
    return isFree;
  };
  return providers
    .map((provider) => {
      const wanted = instruments.filter(({ assetClass }) => provider.classes.includes(assetClass));
      const classes = new Set(wanted.map(({ assetClass }) => assetClass));
      const isWanted = (feed: Feed) => [...classes].filter((one) => take(feed, one)).length > 0;
      return { provider, instruments: wanted, feeds: new Set(provider.feeds.filter(isWanted)) };
    })
    .filter(({ feeds }) => feeds.size > 0);
}

/** One provider as the service found it when it started. */
export interface ProviderSetup {
  readonly id: string;
  readonly name: string;
  /** Settings that it cannot do without and that are not there. */
  readonly missing: readonly string[];
  /** Feeds that are wanted of it; none: another is preferred, or the operator left it out. */
  readonly feeds: readonly string[];
  /** Whether its terms allow the operator's own use only. */
  readonly isForOwnUse: boolean;
  /** Requests that its budget allows, and in which time (milliseconds); `null` for a stream. */
  readonly budget: { readonly requests: number; readonly perMs: number } | null;
}

/** What is followed, as the service found it when it started; for the operator. */
export interface Setup {
  readonly instruments: number;
  /** Those of them whose prices nobody is asked for: they get no score. */
  readonly unpriced: number;
  readonly providers: readonly ProviderSetup[];
}

/** There is one. */
export const setups = collection<Setup>("ingest-setup");

/** Its key. */
export const SETUP_KEY = "live";

/** Settings that a provider lacks. */
export const missingOf = (
  { needs }: Provider,
  settings: Readonly<Record<string, string>>,
): readonly string[] => needs.filter((name) => settings[name] === undefined);

/** What a set-up is made of. */
export interface SetupOptions {
  readonly instruments: readonly Instrument[];
  /** All there are. */
  readonly providers: readonly Provider[];
  /** Those that the operator wants. */
  readonly wanted: readonly Provider[];
  /** Those that are asked. */
  readonly assigned: readonly Assignment[];
  readonly settings: Readonly<Record<string, string>>;
}

/** The set-up of all providers. */
export function setupOf(options: SetupOptions): Setup {
  const { instruments, providers, wanted, assigned, settings } = options;
  const pricing = assigned.filter(({ feeds }) => feeds.has("bars"));
  const priced = new Set(pricing.flatMap((one) => one.instruments));
  return {
    instruments: instruments.length,
    unpriced: instruments.filter((one) => !priced.has(one)).length,
    providers: providers.map((provider) => ({
      id: provider.id,
      name: provider.name,
      isForOwnUse: provider.isForOwnUse,
      missing: wanted.includes(provider) ? missingOf(provider, settings) : [],
      feeds: [...(assigned.find((one) => one.provider === provider)?.feeds ?? [])],
      budget: provider.kind === "polled" ? provider.budget : null,
    })),
  };
}
