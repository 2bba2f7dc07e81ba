import type { AssetClass, Instrument } from "../market/instrument.ts";
import type { Feed } from "../market/records.ts";
import type { Provider } from "../sources/live/provider.ts";
import { collection } from "../store/port/records.ts";
/** A provider with the instruments and feeds that it is used for. */
export interface ProviderAssignment {
  readonly provider: Provider;
  readonly instruments: readonly Instrument[];
  readonly feeds: ReadonlySet<Feed>;
}

/**
 * Whether a feed combines several providers. Only messages do; every other feed comes from one
 * provider.
 */
const isShared = (feed: Feed): boolean => feed === "mentions";

/**
 * Assigns each feed of each asset class to the first provider that has it.
 *
 * @param providers Usable providers in order of preference.
 */
export function assignProviders(
  providers: readonly Provider[],
  instruments: readonly Instrument[],
): readonly ProviderAssignment[] {
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

/** One provider as configured at the start of the service. */
export interface ProviderSetup {
  readonly id: string;
  readonly name: string;
  /** Required settings that are not set. */
  readonly missing: readonly string[];
  /**
   * Feeds that the provider is used for; empty if other providers are preferred, a setting is
   * missing, or the operator excluded it.
   */
  readonly feeds: readonly string[];
  /** Whether the provider's terms allow only the operator's own use. */
  readonly isForOwnUse: boolean;
  /** Rate limit: number of requests per `perMs` milliseconds; `null` for a stream. */
  readonly budget: { readonly requests: number; readonly perMs: number } | null;
}

/** Providers and instruments as configured at the start of the service, for the operator. */
export interface IngestSetup {
  readonly instruments: number;
  /** Number of instruments without a provider of prices, which get no score. */
  readonly unpriced: number;
  readonly providers: readonly ProviderSetup[];
}

/** Collection of the setup; it has one record. */
export const ingestSetups = collection<IngestSetup>("ingest-setup");

/** Key of the setup's record. */
export const INGEST_SETUP_KEY = "live";

/** Required settings of a provider that are not set. */
export const missingSettings = (
  { needs }: Provider,
  settings: Readonly<Record<string, string>>,
): readonly string[] => needs.filter((name) => settings[name] === undefined);

/** Options of `ingestSetupOf`. */
interface IngestSetupOptions {
  readonly instruments: readonly Instrument[];
  /** All providers. */
  readonly providers: readonly Provider[];
  /** Providers that the operator selected. */
  readonly wanted: readonly Provider[];
  /** Providers that are used, with their feeds. */
  readonly assigned: readonly ProviderAssignment[];
  readonly settings: Readonly<Record<string, string>>;
}

/** Describes all providers as configured. */
export function ingestSetupOf(options: IngestSetupOptions): IngestSetup {
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
      missing: wanted.includes(provider) ? missingSettings(provider, settings) : [],
      feeds: [...(assigned.find((one) => one.provider === provider)?.feeds ?? [])],
      budget: provider.kind === "polled" ? provider.budget : null,
    })),
  };
}
