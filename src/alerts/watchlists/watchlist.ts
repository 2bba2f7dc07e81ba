import { fingerprint } from "../../lib/fingerprint.ts";
import { Problem } from "../../lib/problem.ts";
import { collection, type RecordReader, type Stored } from "../../store/port/records.ts";
import {
  type Alert,
  type AlertOwner,
  groupsOfOwner,
  type InstrumentSelector,
  type OwnerIdentity,
  ownerKey,
} from "../alert.ts";

/** A named list of instruments. */
export interface Watchlist {
  /** The OAuth client that created the list; the person if it was created without a client. */
  readonly owner: AlertOwner;
  /** Name as the owner wrote it, unique among the owner's lists (case-insensitive). */
  readonly name: string;
  /** Sorted symbols, at least one. */
  readonly symbols: readonly string[];
}

/** Watchlists by `watchlistKey`. */
export const watchlists = collection<Watchlist>("watchlists", {
  groups: ({ owner }) => groupsOfOwner(owner),
});

/** A watchlist with its key and revision. */
export type StoredWatchlist = Stored<Watchlist>;

/** Record key of a watchlist, derived from its owner and its name. */
export const watchlistKey = (owner: OwnerIdentity, name: string): string =>
  fingerprint(JSON.stringify([ownerKey(owner), name.toLowerCase()]));

/** Fingerprint of the symbols of a watchlist. */
export const watchlistVersion = ({ symbols }: Watchlist): string =>
  fingerprint(JSON.stringify(symbols));

/** An instrument selector in which a watchlist is replaced by its current symbols. */
export type ResolvedSelector = Exclude<InstrumentSelector, { readonly by: "watchlist" }>;

/** An alert whose watchlist is resolved to its current symbols. */
export type ResolvedAlert = Alert & { readonly watched: ResolvedSelector };

/** A resolved selector, with the watchlist that it was resolved from. */
interface ResolvedWatchlist {
  readonly watched: ResolvedSelector;
  readonly list: StoredWatchlist | undefined;
}

/** Resolves the selector of an alert. A deleted watchlist resolves to no symbols. */
export async function resolveSelector(
  records: RecordReader,
  watched: InstrumentSelector,
): Promise<ResolvedWatchlist> {
  if (watched.by !== "watchlist") return { watched, list: undefined };
  const list = await records.get(watchlists, watched.key);
  const { signal = null } = watched;
  return { watched: { by: "symbols", symbols: list?.value.symbols ?? [], signal }, list };
}

/** Resolves the selectors of alerts. Each watchlist is read once. */
export async function resolveAlerts(
  records: RecordReader,
  stored: readonly Stored<Alert>[],
): Promise<readonly Stored<ResolvedAlert>[]> {
  const lists = new Map<string, Promise<ResolvedWatchlist>>();
  const resolve = async (watched: InstrumentSelector): Promise<ResolvedWatchlist> => {
    if (watched.by !== "watchlist") return resolveSelector(records, watched);
    const known = lists.get(watched.key) ?? resolveSelector(records, watched);
    lists.set(watched.key, known);
    const found = await known;
    // Alerts on one list can each have a signal of their own.
    return { ...found, watched: { ...found.watched, signal: watched.signal ?? null } };
  };
  return Promise.all(
    stored.map(async (alert) => {
      const { watched } = await resolve(alert.value.watched);
      return { ...alert, value: { ...alert.value, watched } };
    }),
  );
}

/**
 * Requires that the watchlist of a selector exists, if it names one.
 *
 * @throws {Problem} `not_found` when the list was deleted.
 */
export async function requireWatchlist(
  records: RecordReader,
  watched: InstrumentSelector | undefined,
): Promise<void> {
  if (watched?.by !== "watchlist") return;
  if ((await records.get(watchlists, watched.key)) !== undefined) return;
  throw new Problem("not_found", {
    detail: "The watchlist was deleted.",
    next: "manage_watchlist (GET /api/watchlists) lists those that there are.",
  });
}
