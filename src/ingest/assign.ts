import type { AssetClass, Instrument } from "../market/instrument.ts";
import type { Feed } from "../market/records.ts";
import type { Provider } from "../sources/live/provider.ts";

/** A provider with what is wanted of it. */
export interface Assigned {
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
export function assign(
  providers: readonly Provider[],
  instruments: readonly Instrument[],
): readonly Assigned[] {
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
