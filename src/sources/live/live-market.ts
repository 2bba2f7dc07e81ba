import { sessionOf } from "../../market/calendar.ts";
import type { Market, Source, SourcesByFeed } from "../../market/market.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import { FEEDS, type InstrumentRecords } from "../../market/records.ts";
import { boundMessages } from "./message-retention.ts";
import { barsDue, utcDay } from "./publication-times.ts";
import {
  createRecordBook,
  knownAt,
  type ReceivedObservation,
  type RecordBook,
} from "./record-book.ts";
import type { LiveInstrument } from "./universe.ts";

const DAY_MS = 86_400_000;

/**
 * History that comes in changes sessions that were scored already, and all of them are scored again:
 * 0.3 seconds of work for 40 instruments, 4 for 500, 2 for 500,000 messages. The first time that is
 * done soon, in milliseconds; while more comes, each pause is twice as long as the one before.
 */
const FIRST_PAUSE_MS = 5_000;

/** Longest pause, in milliseconds. */
const LONGEST_PAUSE_MS = 60_000;

/** After so long without such a thing the next one comes alone, in milliseconds. */
const CALM_MS = 600_000;

/**
 * How long messages stay in memory before the newest one, in milliseconds: for attention, which looks back the longest: 60
 * sessions, each against the 30 before it, which are 131 days of trading. Sessions before that are
 * scored without them when all are scored again.
 */
export const MENTIONS_KEPT_MS = 180 * DAY_MS;

/** Messages in memory at most, of all instruments; 500,000 short ones take 0.6 GB, their readings
 *  included. */
const MOST_MESSAGES = 500_000;

/** So often all are scored again anyway, without what is too old, in milliseconds: until then the
 *  lists only grow. */
const REVISE_EVERY_MS = 30 * DAY_MS;

/** What is said of the market as a whole. */
const SOURCE: Source = {
  id: "live",
  name: "Live providers",
  terms: "Each provider's own; answers about an instrument name them.",
  simulated: false,
};

/** A market that grows by what providers give. */
export interface LiveMarket extends Market {
  /** Takes in what was given; what is there already is passed over. */
  take(observed: readonly ReceivedObservation[]): void;
  /** The clock was set back to an instant, Unix milliseconds: what became known later has not been
   *  read yet. All is scored again. */
  startOver(at: number): void;
}

/**
 * Creates the market without any record.
 *
 * @param sources The providers by their ids.
 * @param mostMessages Messages in memory at most.
 */
export function createLiveMarket(
  instruments: readonly LiveInstrument[],
  sources: ReadonlyMap<string, Source>,
  mostMessages = MOST_MESSAGES,
): LiveMarket {
  const ledgers = new Map(instruments.map((one) => [one.symbol, createRecordBook(one)]));
  let revision = 0;
  let revisedAt = Number.NEGATIVE_INFINITY;
  let pauseMs = FIRST_PAUSE_MS;
  let shownUntil = Number.NEGATIVE_INFINITY;
  let list: readonly InstrumentRecords[] = [];
  const isOutdated = () => [...ledgers.values()].some((ledger) => ledger.isOutdated());
  const revise = (at: number) => {
    // Not by the clock alone, which may be wrong.
    const before = Math.min(at, newestMessage(ledgers.values())) - MENTIONS_KEPT_MS;
    for (const ledger of ledgers.values()) ledger.forgetMessages(before);
    list = [...ledgers.values()].map((ledger) => ledger.revise());
    revision++;
    pauseMs = at - revisedAt > CALM_MS ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    revisedAt = at;
  };
  return {
    mode: "live",
    source: SOURCE,
    printsAre: "blocks",
    followed: instruments,
    dayMs: DAY_MS,
    take(observed) {
      // As they became known: what is about something earlier may have come later.
      const inOrder = observed.toSorted((one, other) => knownAt(one) - knownAt(other));
      for (const one of inOrder) ledgers.get(one.symbol)?.add(one, shownUntil);
      const isTalk = observed.some(({ feed }) => feed === "mentions");
      if (isTalk) boundMessages([...ledgers.values()], mostMessages);
    },
    startOver(at) {
      shownUntil = at;
      revise(at);
    },
    recordsUntil(at) {
      const isDue = at - revisedAt >= pauseMs && isOutdated();
      if (isDue || (revision > 0 && at - revisedAt >= REVISE_EVERY_MS)) revise(at);
      shownUntil = Math.max(shownUntil, at);
      return list;
    },
    revision: () => revision,
    sourcesOf: (symbol) => sourcesIn(ledgers.get(symbol), sources),
    barsDue,
    sessionAt: (at, assetClass) => (assetClass === "crypto" ? utcDay(at) : sessionOf(at)),
    scoringStart: (at) =>
      newYorkInstant(`${Number(newYorkDate(at).slice(0, 4)) - 1}-01-01`, "00:00"),
  };
}

/** When the newest message of all counts as known. */
function newestMessage(ledgers: Iterable<RecordBook>): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (const ledger of ledgers) {
    for (const { availableAt } of ledger.messages()) newest = Math.max(newest, availableAt);
  }
  return newest;
}

function sourcesIn(
  ledger: RecordBook | undefined,
  sources: ReadonlyMap<string, Source>,
): SourcesByFeed {
  const given = ledger?.providers();
  // In an order of their own, whoever came first.
  return new Map(
    FEEDS.flatMap((feed) => {
      const ids = given?.get(feed);
      return ids ? [[feed, [...ids].sort().flatMap((id) => sources.get(id) ?? [])] as const] : [];
    }),
  );
}
