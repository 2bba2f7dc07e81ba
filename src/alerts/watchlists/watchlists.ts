import type { Caller } from "../../access/caller.ts";
import { alertScopes } from "../../access/scopes.ts";
import { currentScopesOf, isEntitledToEvents } from "../../auth/entitlement.ts";
import { Problem } from "../../lib/problem.ts";
import { readAll } from "../../store/port/read-all.ts";
import { type Kept, readKept } from "../../store/set-aside.ts";
import { type Transaction, transact } from "../../store/transact.ts";
import {
  type Alert,
  type AlertOwner,
  alerts,
  type InstrumentSelector,
  isOwnedBy,
  networkRecordsGroup,
  quotaGroup,
} from "../alert.ts";
import { countAlertChange } from "../api/count-change.ts";
import type { AlertDependencies } from "../api/dependencies.ts";
import { managedAccountOf, ownerOf } from "../api/ownership.ts";
import { createQuotaShareCheck, recordsWithoutOwner } from "../api/quota-share.ts";
import { editConflictProblem } from "../api/validation.ts";
import { networkWithRoom } from "../capacity.ts";
import {
  type ResolvedSelector,
  resolveSelector,
  type StoredWatchlist,
  type Watchlist,
  watchlistKey,
  watchlists,
  watchlistVersion,
} from "./watchlist.ts";

/** Maximum number of watchlists of one account, including its agents and API keys. */
const MAX_LISTS = 50;

/** Maximum number of symbols in a watchlist; the same as for an alert with a list of symbols. */
const MAX_LISTED = 100;

/** A watchlist as a caller sees it. */
export interface WatchlistView extends Pick<Watchlist, "name" | "symbols"> {
  /** Whether the caller may change the list. */
  readonly isOwn: boolean;
}

/** The watchlists that a caller may read. */
export interface WatchlistOverview {
  /** The lists, sorted by name; the key tells lists of the same name by several clients apart. */
  readonly lists: readonly (WatchlistView & { readonly key: string })[];
  /**
   * Number of further lists of the account that the caller may not read, because other callers
   * created them.
   */
  readonly others: number;
}

/** How the given symbols change a watchlist. */
export type WatchlistChangeKind = "set" | "add" | "remove";

/** Dependencies of `WatchlistService`. */
type WatchlistDependencies = Pick<AlertDependencies, "records" | "audit" | "limits" | "capacity">;

/** A change of the watchlist with the given name. */
interface WatchlistEdit {
  readonly name: string;
  readonly change: WatchlistChangeKind;
  /** Symbols of covered instruments, at least one. */
  readonly symbols: readonly string[];
}

/**
 * The operations that callers can perform on watchlists. A list belongs to the OAuth client that
 * created it. Apart from that client, only the person can see the list, on the account page and
 * with their API keys. A list that was created with an API key belongs to the person: all of the
 * person's clients can read it, and only the person's API keys can change it. On the account page
 * the person can change all lists.
 *
 * Methods that change something count against the limit `changes` and may throw
 * `rate_limited`.
 */
export class WatchlistService {
  readonly #dependencies: WatchlistDependencies;

  constructor(dependencies: WatchlistDependencies) {
    this.#dependencies = dependencies;
  }

  /** The watchlists that a caller may read. */
  async overview(caller: Caller): Promise<WatchlistOverview> {
    const owner = listOwnerOf(caller);
    const all = await readAll(this.#dependencies.records, watchlists, quotaGroup(owner));
    const readable = all.filter(({ value }) => mayRead(value.owner, caller));
    const lists = readable.map(({ key, value }) => ({ key, ...viewOf(value, caller) }));
    return { lists: lists.toSorted(byName), others: all.length - readable.length };
  }

  /**
   * Finds a watchlist by name: the caller's own watchlist or, if there is none, the person's
   * watchlist.
   *
   * @throws {Problem} `not_found`.
   */
  async find(caller: Caller, name: string): Promise<StoredWatchlist> {
    const { records } = this.#dependencies;
    const { accountId } = caller;
    const owners = [listOwnerOf(caller), ...(accountId === undefined ? [] : [personOf(accountId)])];
    for (const owner of owners) {
      const list = await records.get(watchlists, watchlistKey(owner, name));
      if (list !== undefined) return list;
    }
    throw watchlistNotFoundProblem();
  }

  /** Resolves the selector of an alert, replacing a watchlist by its current symbols. */
  async resolve(watched: InstrumentSelector): Promise<ResolvedSelector> {
    return (await resolveSelector(this.#dependencies.records, watched)).watched;
  }

  /**
   * Creates or changes a watchlist. Removing symbols that are not in the list has no effect.
   *
   * @throws {Problem} `not_found` when the caller has no such list to change; `alert_limit`;
   * `invalid_request` when the list would have no symbols or too many.
   */
  async save(caller: Caller, { name, change, symbols }: WatchlistEdit): Promise<WatchlistView> {
    const { records, audit, limits, capacity } = this.#dependencies;
    await countAlertChange(limits, caller);
    const owner = listOwnerOf(caller);
    const key = watchlistKey(owner, name);
    const room = await capacity.roomFor(owner);
    return transact(records, async (tx) => {
      const before = await tx.get(watchlists, key);
      if (before === undefined && change === "remove") throw watchlistNotFoundProblem();
      const listed = changedSymbols(before?.value.symbols ?? [], change, symbols);
      const value = { owner, name: before?.value.name ?? name, symbols: listed };
      if (before === undefined) {
        const groups = [networkRecordsGroup(networkWithRoom(room))];
        await requireWatchlistQuota(tx, caller, owner);
        tx.insert(watchlists, { key, value, groups });
      } else tx.update(watchlists, before, { value });
      audit(tx, { action: "watchlist.changed", actor: caller.id, target: key });
      return viewOf(value, caller);
    });
  }

  /**
   * Deletes a watchlist of the caller.
   *
   * @throws {Problem} `not_found`; `wrong_state` while alerts use the list.
   */
  async remove(caller: Caller, name: string): Promise<void> {
    await countAlertChange(this.#dependencies.limits, caller);
    const owner = listOwnerOf(caller);
    if (!(await this.#remove(watchlistKey(owner, name), owner, caller.id)))
      throw watchlistNotFoundProblem();
  }

  /**
   * All watchlists of an account, sorted by name: those of the person, their agents and their
   * clients.
   */
  async listForAccount(accountId: string): Promise<readonly StoredWatchlist[]> {
    const { records } = this.#dependencies;
    const all = await readAll(records, watchlists, quotaGroup(personOf(accountId)));
    return all.toSorted((one, other) => byName(one.value, other.value));
  }

  /**
   * Replaces the symbols of a watchlist of an account.
   *
   * @returns Whether the account has this list.
   * @param seen The new symbols, and the `watchlistVersion` that the person last saw.
   * @throws {Problem} `invalid_request` for no symbols or too many; `wrong_state` if the list has
   * changed since the person saw it.
   */
  changeForAccount(
    accountId: string,
    key: string,
    { symbols, version }: { readonly symbols: readonly string[]; readonly version: string },
  ): Promise<boolean> {
    const { records, audit } = this.#dependencies;
    return transact(records, async (tx) => {
      const list = await tx.get(watchlists, key);
      if (list?.value.owner.accountId !== accountId) return false;
      if (watchlistVersion(list.value) !== version) throw editConflictProblem();
      const value = { ...list.value, symbols: changedSymbols([], "set", symbols) };
      tx.update(watchlists, list, { value });
      audit(tx, { action: "watchlist.changed", actor: accountId, target: key });
      return true;
    });
  }

  /**
   * Deletes a watchlist of an account.
   *
   * @returns Whether the list existed.
   * @throws {Problem} `wrong_state` while alerts use the list.
   */
  removeForAccount(accountId: string, key: string): Promise<boolean> {
    return this.#remove(key, personOf(accountId), accountId);
  }

  /**
   * Deletes a watchlist.
   *
   * @param owner The list's owner, or another owner of the same account.
   * @returns Whether the list existed.
   */
  #remove(key: string, owner: AlertOwner, actor: string): Promise<boolean> {
    const { records, audit } = this.#dependencies;
    const group = quotaGroup(owner);
    return transact(records, async (tx) => {
      const list = await tx.get(watchlists, key);
      if (list === undefined || quotaGroup(list.value.owner) !== group) return false;
      const own = await readKept(tx, alerts, group);
      const users = own.filter(({ value: { watched } }) => isWatching(watched, key));
      if (users.length > 0) throw watchlistInUseProblem(users);
      tx.remove(watchlists, key);
      audit(tx, { action: "watchlist.deleted", actor, target: key });
      return true;
    });
  }
}

/**
 * Requires that a watchlist can be added within the owner's quota. Lists whose owner has expired
 * make room.
 *
 * @throws {Problem} `alert_limit`; `insufficient_scope` when the caller may no longer have lists.
 */
async function requireWatchlistQuota(
  tx: Transaction,
  caller: Caller,
  owner: AlertOwner,
): Promise<void> {
  const all = await tx.list(watchlists, { group: quotaGroup(owner), limit: MAX_LISTS });
  const orphans = await recordsWithoutOwner(tx, all);
  const existing = all.filter((list) => !orphans.includes(list));
  const isUsedUp = await createQuotaShareCheck(tx, owner, existing);
  if (existing.length >= MAX_LISTS || isUsedUp(existing, MAX_LISTS)) throw watchlistLimitProblem();
  if (!isEntitledToEvents(await currentScopesOf(tx, ownerOf(caller)))) throw ownerEndedProblem();
  for (const { key } of orphans) tx.remove(watchlists, key);
}

/** The person as an owner, without an OAuth client. */
const personOf = (accountId: string): AlertOwner => ({ kind: "user", id: accountId, accountId });

/**
 * The owner of the watchlists that a caller creates. For a caller with a person's API key, this is
 * the person.
 */
function listOwnerOf(caller: Caller): AlertOwner {
  const account = managedAccountOf(caller);
  return account === undefined ? ownerOf(caller) : personOf(account);
}

const isOwn = (owner: AlertOwner, caller: Caller): boolean => isOwnedBy(owner, listOwnerOf(caller));

/**
 * Whether a caller may read an owner's lists. A person's API key may read all lists of the account.
 */
const mayRead = (owner: AlertOwner, caller: Caller): boolean =>
  isOwn(owner, caller) ||
  managedAccountOf(caller) !== undefined ||
  (caller.accountId !== undefined && isOwnedBy(owner, personOf(caller.accountId)));

const viewOf = ({ owner, name, symbols }: Watchlist, caller: Caller): WatchlistView => ({
  name,
  symbols,
  isOwn: isOwn(owner, caller),
});

type NamedWatchlist = Pick<Watchlist, "name">;

const byName = (one: NamedWatchlist, other: NamedWatchlist): number =>
  one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1;

const isWatching = (watched: InstrumentSelector, key: string): boolean =>
  watched.by === "watchlist" && watched.key === key;

/**
 * The sorted symbols of a watchlist after a change.
 *
 * @throws {Problem} `invalid_request` for no symbols or too many.
 */
function changedSymbols(
  before: readonly string[],
  change: WatchlistChangeKind,
  symbols: readonly string[],
): readonly string[] {
  const given = new Set(symbols);
  const after = {
    set: given,
    add: new Set([...before, ...symbols]),
    remove: new Set(before.filter((symbol) => !given.has(symbol))),
  }[change];
  if (after.size > 0 && after.size <= MAX_LISTED) return [...after].sort();
  throw new Problem("invalid_request", {
    detail: `symbols: a watchlist has 1 to ${MAX_LISTED} symbols; this one would have ${after.size}.`,
    next: after.size === 0 ? "Delete the list instead." : "Use a second list.",
  });
}

const watchlistNotFoundProblem = (): Problem =>
  new Problem("not_found", {
    detail: "You have no watchlist of that name.",
    next: "manage_watchlist (GET /api/watchlists) lists yours.",
  });

function watchlistInUseProblem(users: readonly Kept<Alert>[]): Problem {
  const reachable = users.filter(({ aside }) => aside === undefined);
  // Its owner neither finds nor deletes an alert that is disabled.
  return reachable.length > 0
    ? new Problem("wrong_state", {
        detail: `${reachable.length} of the alerts watch it.`,
        next: "Change or delete these alerts first: list_alerts, manage_alert.",
      })
    : new Problem("wrong_state", {
        detail: "An alert that the operator of this service has disabled watches it.",
        next: "Ask the operator: POST /api/contact takes a message.",
      });
}

const watchlistLimitProblem = (): Problem =>
  new Problem("alert_limit", {
    detail: `You have your share of the ${MAX_LISTS} watchlists of all your clients.`,
    next: "Delete one with manage_watchlist, or add symbols to one that you have.",
  });

const ownerEndedProblem = (): Problem =>
  new Problem("insufficient_scope", {
    detail: "You may not have watchlists any more.",
    next: `Get a token with the scopes ${alertScopes.join(" ")}.`,
  });
