import { fingerprint } from "../../lib/fingerprint.ts";
import { Problem } from "../../problem.ts";
import { replace } from "../../store/port/operations.ts";
import { collection, type Operation, type Records, type Stored } from "../../store/port/records.ts";
import {
  type Alert,
  type InstrumentSelector,
  type Owner,
  type OwnerIdentity,
  ownerKey,
} from "../alert.ts";

/** A named list of instruments. */
export interface Watchlist {
  /** The client that made it; without a client, the person themselves. */
  readonly owner: Owner;
  /** Name as its owner wrote it; unique among the owner's lists without regard to case. */
  readonly name: string;
  /** Symbols, sorted, at least one. */
  readonly symbols: readonly string[];
}

/** Watchlists by `watchlistKey`. */
export const watchlists = collection<Watchlist>("watchlists");

/** A watchlist with its key and revision. */
export type StoredWatchlist = Stored<Watchlist>;

/** Key of the list of an owner with a name. */
export const watchlistKey = (owner: OwnerIdentity, name: string): string =>
  fingerprint(JSON.stringify([ownerKey(owner), name.toLowerCase()]));

/** Identifies the contents of a list. */
export const watchlistVersion = ({ symbols }: Watchlist): string =>
  fingerprint(JSON.stringify(symbols));

/** What an alert watches, with the current symbols of a watchlist. */
export type ResolvedSelector = Exclude<InstrumentSelector, { readonly by: "watchlist" }>;

/** An alert with its watchlist resolved to instruments. */
export type ResolvedAlert = Alert & { readonly watched: ResolvedSelector };

/** A resolved selector, and the list that it comes from. */
interface Resolved {
  readonly watched: ResolvedSelector;
  readonly list: StoredWatchlist | undefined;
}

/** Resolves a selector. A deleted list has no symbols. */
export async function resolveSelector(
  records: Records,
  watched: InstrumentSelector,
): Promise<Resolved> {
  if (watched.by !== "watchlist") return { watched, list: undefined };
  const list = await records.get(watchlists, watched.key);
  return { watched: { by: "symbols", symbols: list?.value.symbols ?? [] }, list };
}

/** Resolves what alerts watch, each list once. */
export async function resolveAlerts(
  records: Records,
  stored: readonly Stored<Alert>[],
): Promise<readonly Stored<ResolvedAlert>[]> {
  const lists = new Map<string, Promise<Resolved>>();
  const resolve = (watched: InstrumentSelector): Promise<Resolved> => {
    if (watched.by !== "watchlist") return resolveSelector(records, watched);
    const known = lists.get(watched.key) ?? resolveSelector(records, watched);
    lists.set(watched.key, known);
    return known;
  };
  return Promise.all(
    stored.map(async (alert) => {
      const { watched } = await resolve(alert.value.watched);
      return { ...alert, value: { ...alert.value, watched } };
    }),
  );
}

/**
 * The operations that let a commit make an alert watch a list, and fail it unless the list exists.
 * They change the list's revision, so that a concurrent deletion, which did not see the alert,
 * fails.
 *
 * @throws {Problem} `not_found` when the list was deleted.
 */
export async function keepWatchlist(
  records: Records,
  watched: InstrumentSelector | undefined,
): Promise<readonly Operation[]> {
  if (watched?.by !== "watchlist") return [];
  const list = await records.get(watchlists, watched.key);
  if (list !== undefined) return [replace(watchlists, list, { value: list.value })];
  throw new Problem("not_found", {
    detail: "The watchlist was deleted.",
    next: "manage_watchlist (GET /api/watchlists) lists those that there are.",
  });
}
