import { sessionOf, sessionsBetween } from "../../market/calendar.ts";
import type { Givers, Market, Source } from "../../market/market.ts";
import { newYorkDate, newYorkInstant } from "../../market/new-york.ts";
import { FEEDS, type InstrumentRecords } from "../../market/records.ts";
import { createLedger, knownAt, type Ledger, type Observed } from "./ledger.ts";
import type { LiveInstrument } from "./universe.ts";
import { coinBarKnown, stockBarKnown } from "./when.ts";

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
 * How long messages stay in memory, in milliseconds: for attention, which looks back the longest: 60
 * sessions, each against the 30 before it, which are 131 days of trading. Sessions before that are
 * scored without them when all are scored again.
 */
export const MENTIONS_KEPT_MS = 180 * DAY_MS;

/** Messages in memory at most, of all instruments; 500,000 short ones take 0.6 GB, their readings
 *  included. Beyond that the oldest go, whatever their age. */
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
  take(observed: readonly Observed[]): void;
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
  const ledgers = new Map(instruments.map((one) => [one.symbol, createLedger(one)]));
  let revision = 0;
  let revisedAt = Number.NEGATIVE_INFINITY;
  let pauseMs = FIRST_PAUSE_MS;
  let shownUntil = Number.NEGATIVE_INFINITY;
  let list: readonly InstrumentRecords[] = [];
  const isOutdated = () => [...ledgers.values()].some((ledger) => ledger.isOutdated());
  const revise = (at: number) => {
    for (const ledger of ledgers.values()) ledger.forgetMessages(at - MENTIONS_KEPT_MS);
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
    recordsUntil(at) {
      const isDue = at - revisedAt >= pauseMs && isOutdated();
      if (isDue || (revision > 0 && at - revisedAt >= REVISE_EVERY_MS)) revise(at);
      shownUntil = Math.max(shownUntil, at);
      return list;
    },
    revision: () => revision,
    sourcesOf: (symbol) => sourcesIn(ledgers.get(symbol), sources),
    barsDue,
    sessionAt: (at, assetClass) => (assetClass === "crypto" ? utcDate(at) : sessionOf(at)),
    walkStart: (at) => newYorkInstant(`${Number(newYorkDate(at).slice(0, 4)) - 1}-01-01`, "00:00"),
  };
}

/** Forgets the oldest messages of all, a fifth at once, when there are too many. */
function boundMessages(ledgers: readonly Ledger[], most: number): void {
  const count = ledgers.reduce((sum, ledger) => sum + ledger.messageCount(), 0);
  if (count <= most) return;
  const times = ledgers.flatMap((ledger) => ledger.messageTimes()).sort((a, b) => a - b);
  const before = times[count - Math.floor(0.8 * most)] as number;
  for (const ledger of ledgers) ledger.forgetMessages(before);
}

const utcDate = (at: number): string => new Date(at).toISOString().slice(0, 10);

function sourcesIn(ledger: Ledger | undefined, sources: ReadonlyMap<string, Source>): Givers {
  const given = ledger?.providers();
  // In an order of their own, whoever came first.
  return new Map(
    FEEDS.flatMap((feed) => {
      const ids = given?.get(feed);
      return ids ? [[feed, [...ids].sort().flatMap((id) => sources.get(id) ?? [])] as const] : [];
    }),
  );
}

/** By the exchanges' calendar, and by UTC days. */
const barsDue: NonNullable<Market["barsDue"]> = (after, until, assetClass) =>
  (assetClass === "crypto" ? daysFrom(after, until) : sessionsFrom(after, until)).filter(
    (at) => at > after && at <= until,
  );

const sessionsFrom = (after: number, until: number): readonly number[] =>
  sessionsBetween(newYorkDate(after), newYorkDate(until)).map(stockBarKnown);

function daysFrom(after: number, until: number): readonly number[] {
  const first = Math.floor(after / DAY_MS) - 1;
  const count = Math.max(0, Math.floor(until / DAY_MS) - first + 1);
  return Array.from({ length: count }, (_, index) =>
    coinBarKnown(utcDate((first + index) * DAY_MS)),
  );
}
