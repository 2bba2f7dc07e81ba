import { callerAddress } from "../access/auditor.ts";
import { Problem } from "../lib/problem.ts";
import { networkOf } from "../limits/address-key.ts";
import { refusingLevel } from "../limits/admission.ts";
import { type LimitNumbers, storageClasses } from "../limits/classes.ts";
import { accounts } from "../principals/accounts/accounts.ts";
import type { RecordReader, Records } from "../store/port/records.ts";
import { alerts, networkRecordsGroup } from "./alert.ts";
import { channels } from "./channels/channel.ts";
import { watchlists } from "./watchlists/watchlist.ts";

/** Collections whose records the class `alerts` counts. */
const COUNTED = [alerts, watchlists, channels];

/** How long the number of all records is used before it is counted again, in milliseconds. */
const RECOUNT_MS = 10_000;

/** Number of revisions per page when all records are counted. */
const PAGE = 10_000;

/** `Retry-After` of a refusal, in seconds. Records go when a person removes them. */
const RETRY_SECONDS = 3_600;

/** Dependencies of `AlertCapacity`. */
export interface AlertCapacityOptions {
  readonly records: Records;
  /** Hashes a network, because the store contains no addresses in plain text. */
  readonly hashAddress: (address: string) => string;
  readonly now: () => Date;
  /** Default: the numbers of the class `alerts`. */
  readonly most?: LimitNumbers;
}

/**
 * Bounds how many alerts, watchlists and channels are stored for a network and in total (the class
 * `alerts`); the quotas of an account bound its own. Nothing is evicted, because all of them are in
 * use by a person. Registrations of the same instant can exceed a network's number, and those of ten
 * seconds the total.
 */
export class AlertCapacity {
  readonly #options: AlertCapacityOptions;
  readonly #most: LimitNumbers;
  #total = 0;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AlertCapacityOptions) {
    this.#options = options;
    this.#most = options.most ?? storageClasses.alerts;
  }

  /**
   * The network for which a new record of an account counts: the one in which the person first
   * signed in, because many people use a service from the network of one application. Without an
   * account, or for one older than this rule, the network of the request.
   *
   * @returns Hash of the network.
   * @throws {Problem} `rate_limited` if it has as many as allowed, or all networks together have.
   */
  async networkWithRoom(from: RecordReader, accountId: string | undefined): Promise<string> {
    const { hashAddress, now } = this.#options;
    const account = accountId === undefined ? undefined : await from.get(accounts, accountId);
    const network = account?.value.network ?? hashAddress(networkOf(callerAddress()));
    if (Math.abs(now().getTime() - this.#countedAt) >= RECOUNT_MS) {
      this.#countedAt = now().getTime();
      this.#total = await this.#countAll();
    }
    const used = { caller: 0, network: await this.#countOf(network), total: this.#total };
    const level = refusingLevel(this.#most, used);
    if (level !== undefined) throw noRoom(level === "network" ? "Your network has" : "All have");
    this.#total += 1;
    return network;
  }

  /** Outside of the transaction: the number need not be exact. */
  async #countOf(network: string): Promise<number> {
    const selection = { group: networkRecordsGroup(network), limit: this.#most.network };
    const found = COUNTED.map((from) => this.#options.records.list<unknown>(from, selection));
    return (await Promise.all(found)).flat().length;
  }

  async #countAll(): Promise<number> {
    let count = 0;
    for (const from of COUNTED) {
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page = await this.#options.records.listRevisions(from, { after, limit: PAGE });
        count += page.length;
        after = page.length < PAGE ? undefined : page.at(-1)?.revision;
      }
    }
    return count;
  }
}

const noRoom = (whose: string): Problem =>
  new Problem("rate_limited", {
    detail: `${whose} as many alerts, watchlists and channels as are stored.`,
    next: "Remove one that you have, or try again later.",
    headers: { "Retry-After": String(RETRY_SECONDS) },
  });
