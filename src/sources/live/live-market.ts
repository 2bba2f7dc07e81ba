import { DAY_MS, utcDay } from "../../lib/day.ts";
import { sessionOf } from "../../market/calendar.ts";
import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { DataSource, Market, SourcesByFeed } from "../../market/market.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import { FEEDS, type InstrumentRecords } from "../../market/records.ts";
import { evictSurplusMessages } from "./message-retention.ts";
import { barDueTimes } from "./publication-times.ts";
import { observationKnownAt, type ReceivedObservation, RecordBook } from "./record-book.ts";

/**
 * Pause between the first two revisions, in milliseconds; while more history arrives, each pause is
 * twice as long as the previous one. Backfilled history changes sessions that were already scored,
 * so a revision scores all sessions again. This takes 0.3 s for 40 instruments and 4 s for 500
 * instruments, and 500,000 messages add 2 s.
 */
const FIRST_PAUSE_MS = 5_000;

/** Maximum pause between two revisions, in milliseconds. */
const LONGEST_PAUSE_MS = 60_000;

/** Time without a revision after which the pause is reset to `FIRST_PAUSE_MS`, in milliseconds. */
const CALM_MS = 600_000;

/**
 * Age up to which messages stay in memory, in milliseconds before the start of the month. The
 * attention factor looks back furthest: 60 sessions, each compared with the 30 before it, span 131
 * calendar days. When all sessions are scored again, older sessions are scored without messages.
 */
const MENTIONS_KEPT_MS = 180 * DAY_MS;

/** Start of the UTC month that contains an instant, both in Unix milliseconds. */
const monthOf = (at: number): number => Date.parse(`${utcDay(at).slice(0, 7)}-01`);

/**
 * Start of the period whose messages stay in memory, Unix milliseconds. It moves when the first
 * message of a month arrives, which every process reads, so that processes score the same messages
 * regardless of when they started.
 *
 * @param at Now, Unix milliseconds.
 * @param newestAt When the newest message was written, Unix milliseconds: the clock alone may be
 * wrong.
 */
export const mentionsKeptFrom = (at: number, newestAt: number): number =>
  monthOf(Math.min(at, newestAt)) - MENTIONS_KEPT_MS;

/**
 * Maximum number of messages in memory, over all instruments; 500,000 short messages take 0.6 GB
 * with their sentiment.
 */
const MAX_MESSAGES = 500_000;

/** Source shown for the market as a whole. */
const SOURCE: DataSource = {
  id: "live",
  name: "Live providers",
  terms: "Each provider's own; answers about an instrument name them.",
  simulated: false,
};

/** One asset class for each trading calendar that the instruments follow. */
function calendarsOf(instruments: readonly Instrument[]): readonly AssetClass[] {
  const isCoin = new Set(instruments.map(({ assetClass }) => assetClass === "crypto"));
  return [...isCoin].map((coins) => (coins ? "crypto" : "stock"));
}

/** A market that grows with the observations of providers. */
export class LiveMarket implements Market {
  readonly mode = "live";
  readonly source = SOURCE;
  readonly printsAre = "blocks";
  readonly dayMs = DAY_MS;
  readonly followed: readonly Instrument[];
  readonly #sources: ReadonlyMap<string, DataSource>;
  readonly #polled: ReadonlySet<string>;
  readonly #maxMessages: number;
  readonly #books: ReadonlyMap<string, RecordBook>;
  /** Records as last returned to readers, which retain these lists. */
  #records: readonly InstrumentRecords[] = [];
  /** Instant up to which readers have read everything, Unix milliseconds. */
  #shownUntil = Number.NEGATIVE_INFINITY;
  #revision = 0;
  #revisedAt = Number.NEGATIVE_INFINITY;
  #pauseMs = FIRST_PAUSE_MS;
  #confirmedAt = Number.NEGATIVE_INFINITY;
  /** When the newest message was written, Unix milliseconds. */
  #newestMessageAt = Number.NEGATIVE_INFINITY;
  /** Start of the period whose messages are in the lists, Unix milliseconds. */
  #messagesFrom = Number.NEGATIVE_INFINITY;

  /**
   * Creates a market that has no records yet.
   *
   * @param sources The providers by their ids.
   * @param polled Ids of the providers whose answers are dated, so that their clocks are compared
   * with ours.
   */
  constructor(
    instruments: readonly Instrument[],
    sources: ReadonlyMap<string, DataSource>,
    polled: ReadonlySet<string> = new Set(),
    maxMessages = MAX_MESSAGES,
  ) {
    this.followed = instruments;
    this.#sources = sources;
    this.#polled = polled;
    this.#maxMessages = maxMessages;
    // Sorted independently of the configured order, since the last digits of sums over a class
    // depend on the order.
    const inOrder = instruments.toSorted((one, other) => (one.symbol < other.symbol ? -1 : 1));
    const calendars = calendarsOf(instruments);
    this.#books = new Map(inOrder.map((one) => [one.symbol, new RecordBook(one, calendars)]));
  }

  /**
   * When the last observation arrived from a provider whose clock agreed with ours, Unix
   * milliseconds; -Infinity before the first.
   */
  get confirmedAt(): number {
    return this.#confirmedAt;
  }

  /** Adds observations; those that were added before are ignored. */
  take(observed: readonly ReceivedObservation[]): void {
    for (const { feed, at, provider, observedAt } of observed) {
      if (feed === "mentions") this.#newestMessageAt = Math.max(this.#newestMessageAt, at);
      if (!this.#polled.has(provider)) continue;
      this.#confirmedAt = Math.max(this.#confirmedAt, observedAt);
    }
    // Sorted by the time at which they became known: an observation about an earlier instant may
    // arrive later.
    const inOrder = observed.toSorted(
      (one, other) => observationKnownAt(one) - observationKnownAt(other),
    );
    for (const one of inOrder) this.#books.get(one.symbol)?.add(one, this.#shownUntil);
    const hasMessages = observed.some(({ feed }) => feed === "mentions");
    if (hasMessages) evictSurplusMessages([...this.#books.values()], this.#maxMessages);
  }

  /**
   * Handles a clock that was set back: records known after `at` count as unread, and everything is
   * scored again.
   *
   * @param at The current time, Unix milliseconds.
   */
  startOver(at: number): void {
    this.#shownUntil = at;
    this.#revise(at);
  }

  recordsUntil(at: number): readonly InstrumentRecords[] {
    const isDue = at - this.#revisedAt >= this.#pauseMs && this.#isOutdated(at);
    // The lists also have to be rebuilt when old messages are to be dropped.
    if (isDue || this.#messagesKeptFrom(at) > this.#messagesFrom) this.#revise(at);
    this.#shownUntil = Math.max(this.#shownUntil, at);
    return this.#records;
  }

  revision(): number {
    return this.#revision;
  }

  sourcesOf(symbol: string): SourcesByFeed {
    const providers = this.#books.get(symbol)?.providers();
    return new Map(
      FEEDS.flatMap((feed) => {
        const ids = providers?.get(feed);
        if (ids === undefined) return [];
        // Sorted, so that the order does not depend on which provider answered first.
        return [[feed, [...ids].sort().flatMap((id) => this.#sources.get(id) ?? [])] as const];
      }),
    );
  }

  barsDue(after: number, until: number, assetClass: AssetClass): readonly number[] {
    return barDueTimes(after, until, assetClass);
  }

  sessionAt(at: number, assetClass: AssetClass): string {
    return assetClass === "crypto" ? utcDay(at) : sessionOf(at);
  }

  servedFrom(at: number): number {
    return newYorkInstant(`${Number(newYorkDate(at).slice(0, 4)) - 1}-01-01`, "00:00");
  }

  #isOutdated(at: number): boolean {
    return [...this.#books.values()].some((book) => book.isOutdated(at));
  }

  #revise(at: number): void {
    this.#messagesFrom = Math.max(this.#messagesFrom, this.#messagesKeptFrom(at));
    for (const book of this.#books.values()) book.forgetMessages(this.#messagesFrom);
    this.#records = [...this.#books.values()].map((book) => book.revise());
    this.#revision++;
    const isCalm = at - this.#revisedAt > CALM_MS;
    this.#pauseMs = isCalm ? FIRST_PAUSE_MS : Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS);
    this.#revisedAt = at;
  }

  /** Like `mentionsKeptFrom`, but -Infinity before the first message. */
  #messagesKeptFrom(at: number): number {
    const newestAt = this.#newestMessageAt;
    return Number.isFinite(newestAt) ? mentionsKeptFrom(at, newestAt) : newestAt;
  }
}
