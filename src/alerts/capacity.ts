import { callerAddress } from "../access/auditor.ts";
import { Problem } from "../lib/problem.ts";
import { networkOf } from "../limits/address-key.ts";
import { refusingLevel } from "../limits/admission.ts";
import { type LimitNumbers, storageClasses } from "../limits/classes.ts";
import { partyShare } from "../limits/party-share.ts";
import { accounts } from "../principals/accounts/accounts.ts";
import type { Records } from "../store/port/records.ts";
import { type AlertOwner, alerts, networkRecordsGroup, quotaGroup } from "./alert.ts";
import { channels } from "./channels/channel.ts";
import { watchlists } from "./watchlists/watchlist.ts";

/** Collections whose records the class `alerts` counts. */
const COUNTED = [alerts, watchlists, channels];

/** How long the number of all records is used before it is counted again, in milliseconds. */
const RECOUNT_MS = 60_000;

/** Number of revisions per page when all records are counted. */
const PAGE = 10_000;

/**
 * Number of records that every account can have, however many its network has: a channel, a
 * watchlist, and an alert on each.
 */
const ALWAYS = 4;

/** Dependencies of `AlertCapacity`. */
interface AlertCapacityOptions {
  readonly records: Records;
  /** Hashes a network, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
  /** Default: the numbers of the class `alerts`. */
  readonly most?: LimitNumbers | undefined;
}

/** What a new record of an owner counts for, as it was before the transaction that stores it. */
export interface Room {
  /** Hash of the network for which the record counts. */
  readonly network: string;
  /** Why the record must not be stored; absent if there is room. */
  readonly refusal?: Problem;
}

/**
 * The network for which a new record counts.
 *
 * @throws {Problem} `alert_limit` if there is no room.
 */
export function networkWithRoom({ network, refusal }: Room): string {
  if (refusal !== undefined) throw refusal;
  return network;
}

/**
 * Bounds how many alerts, watchlists and channels are stored for a network and in total (the class
 * `alerts`); the quotas of an account bound its own. The more a network has, the fewer each of its
 * accounts can have (`partyShare`), so that a few accounts leave room for the others. Nothing is
 * evicted, because all of them are in use by a person. The numbers need not be exact: registrations
 * of the same instant can exceed an account's share, and those of a minute the total.
 */
export class AlertCapacity {
  readonly #options: AlertCapacityOptions;
  readonly #most: LimitNumbers;
  #total: Promise<number> | undefined;
  #countedAt = 0;

  constructor(options: AlertCapacityOptions) {
    this.#options = options;
    this.#most = options.most ?? storageClasses.alerts;
  }

  /**
   * Finds the room for a new record of an owner. It counts for the network in which the person
   * first signed in, because many people use a service from the network of one application. Without
   * an account, or for one older than this rule, it counts for the network of the request.
   */
  async roomFor(owner: AlertOwner): Promise<Room> {
    const { records, hashAddress } = this.#options;
    const { accountId } = owner;
    const account = accountId === undefined ? undefined : await records.get(accounts, accountId);
    const network = account?.value.network ?? hashAddress(networkOf(callerAddress()));
    const [own, all, total] = await Promise.all([
      this.#countOf(quotaGroup(owner)),
      this.#countOf(networkRecordsGroup(network)),
      this.#countAll(),
    ]);
    if (own >= this.#shareOf(all)) return { network, refusal: shareIsFull(own) };
    // The share stands for the network's number.
    const used = { caller: 0, network: Math.min(all, 1), total };
    const level = refusingLevel(this.#most, used);
    return level === undefined ? { network } : { network, refusal: totalIsFull() };
  }

  /** How many records an account can have whose network has so many. */
  #shareOf(all: number): number {
    const { caller: most, network: total } = this.#most;
    return all < total ? Math.max(ALWAYS, partyShare({ total, most }, total - all)) : ALWAYS;
  }

  async #countOf(group: string): Promise<number> {
    const selection = { group, limit: this.#most.network };
    const found = COUNTED.map((from) => this.#options.records.list<unknown>(from, selection));
    return (await Promise.all(found)).flat().length;
  }

  /** The number of all records, counted at most once in `RECOUNT_MS`. */
  #countAll(): Promise<number> {
    const now = this.#options.now().getTime();
    if (this.#total === undefined || Math.abs(now - this.#countedAt) >= RECOUNT_MS) {
      this.#countedAt = now;
      this.#total = countRecords(this.#options.records).catch((error: unknown) => {
        this.#total = undefined;
        throw error;
      });
    }
    return this.#total;
  }
}

async function countRecords(records: Records): Promise<number> {
  let count = 0;
  for (const from of COUNTED) {
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = await records.listRevisions(from, { after, limit: PAGE });
      count += page.length;
      after = page.length < PAGE ? undefined : page.at(-1)?.revision;
    }
  }
  return count;
}

const shareIsFull = (own: number): Problem =>
  new Problem("alert_limit", {
    detail: `You have ${own} alerts, watchlists and channels. Others who first signed in from your network have so many that no more are yours.`,
    next: "Remove one of yours, or ask the operator to raise the network's number of the limit alerts.",
  });

const totalIsFull = (): Problem =>
  new Problem("alert_limit", {
    detail: "The service has as many alerts, watchlists and channels as it stores.",
    next: "Ask the operator to raise the total of the limit alerts.",
  });
