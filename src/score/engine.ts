import { type AuthorActivity, createAuthorActivity } from "../factors/message-weight.ts";
import { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { type ClassWalk, createClassWalk, type SnapshotSink } from "./class-scorer.ts";
import { createTextReader, type TextReader } from "./message-stream.ts";
import { createGroupReader, createSessions, type Sessions } from "./session-closes.ts";

/** Keeps the snapshots of the walk; the store implements it. */
export interface SnapshotArchive extends SnapshotSink {
  /** The walk starts over and records anew, apart from everything that was kept before. */
  clear(): void;
  /** All is recorded up to one instant: what was kept before `clear` can go. */
  publish?(): void;
}

/** Turns market records into snapshots, session by session. */
export interface Engine {
  /**
   * Brings every instrument up to `at` (Unix milliseconds, never falling). The result depends on
   * the market and `at` alone: the walk always starts at the market's `walkStart(at)`.
   */
  refresh(at: number): void;
  /**
   * Does the same piece by piece, a session of a class each time, so that others can have their turn
   * in between. Nothing else may be asked of the engine before it has come to its end; one that is
   * given up starts over with the next call.
   */
  walk(at: number): Generator<void, void>;
  /**
   * Brings some instruments up to `at`, at a cost that does not depend on how many there are in
   * all: after a print, a message or a late bar. Every instrument of which something became known
   * since the last call must be among them; then they come out as `refresh(at)` would have them.
   * When a session has closed in between, all are refreshed.
   */
  update(symbols: readonly string[], at: number): void;
  /** Largest difference between running sums and their recomputation at an epoch, in log units. */
  drift(): number;
}

/** The instruments of one class and their calendar. */
interface ClassGroup {
  readonly assetClass: AssetClass;
  readonly walk: ClassWalk;
  readonly sessions: Sessions;
  group: readonly InstrumentRecords[];
  /** All instruments with the same calendar: stocks and funds trade in the same sessions. */
  fellows: readonly InstrumentRecords[];
}

/** Where an instrument stands. */
interface Place {
  readonly group: ClassGroup;
  readonly position: number;
}

/** A walk over all classes from one origin. */
interface Journey {
  readonly origin: number;
  readonly revision: number | undefined;
  readonly classes: readonly ClassGroup[];
  readonly authors: AuthorActivity;
  readonly readMentions: (records: readonly InstrumentRecords[], at: number) => void;
  /** The newest instant that was looked at, Unix milliseconds. */
  at: number;
  /** The list that the groups and places were made from. */
  list: readonly InstrumentRecords[];
  places: ReadonlyMap<string, Place>;
}

/** What an operator can choose about the engine. */
export interface EngineOptions {
  /** How bullish (1) or bearish (-1) a text is; the lexicon's opinion unless given. */
  readonly polarityOf?: (text: string) => number;
}

/** Creates the engine over one market. */
export function createEngine(
  market: Market,
  archive: SnapshotArchive,
  { polarityOf }: EngineOptions = {},
): Engine {
  const readText = createTextReader(polarityOf);
  let journey: Journey | undefined;
  const journeyTo = (at: number): Journey => {
    const origin = market.walkStart(at);
    const list = market.recordsUntil(at);
    const revision = market.revision?.();
    if (journey?.origin !== origin || journey.revision !== revision) {
      archive.clear();
      journey = startJourney(market, { archive, origin, revision, readText });
    }
    arrange(journey, list);
    return journey;
  };

  const walk = function* (at: number) {
    const on = journeyTo(at);
    // A walk that fails or is given up half-way leads nowhere.
    journey = undefined;
    yield* advanceAll(on, market, at);
    archive.publish?.();
    journey = on;
  };
  const refresh = (at: number) => {
    for (const _ of walk(at));
  };
  return {
    refresh,
    walk,
    update(symbols, at) {
      const on = journeyTo(at);
      const places = symbols.flatMap((symbol) => on.places.get(symbol) ?? []);
      const byClass = Map.groupBy(places, ({ group }) => group);
      for (const one of on.classes) one.sessions.advance(recordsOf(byClass.get(one)), at);
      if (on.classes.some((one) => hasClosed(one, on.at, at))) {
        refresh(at);
        return;
      }
      on.readMentions(recordsOf(places), at);
      for (const [one, some] of byClass) {
        const positions = some.map(({ position }) => position);
        one.walk.advanceSome(viewOf(market, one, at), positions);
      }
      on.at = at;
      archive.publish?.();
    },
    drift: () => Math.max(0, ...(journey?.classes ?? []).map(({ walk }) => walk.drift)),
  };
}

function* advanceAll(on: Journey, market: Market, at: number): Generator<void, void> {
  on.readMentions(on.list, at);
  for (const one of on.classes) {
    one.sessions.advance(one.fellows, at);
    if (one.group.length > 0) yield* one.walk.advance(viewOf(market, one, at));
  }
  on.authors.forget(at);
  on.at = at;
}

function startJourney(
  market: Market,
  {
    archive,
    origin,
    revision,
    readText,
  }: {
    readonly archive: SnapshotArchive;
    readonly origin: number;
    readonly revision: number | undefined;
    readonly readText: TextReader;
  },
): Journey {
  const { dayMs } = market;
  const authors = createAuthorActivity(dayMs);
  const listed = createSessions(market, "stock");
  const coins = createSessions(market, "crypto");
  const classes = AssetClass.options.map((assetClass) => ({
    assetClass,
    walk: createClassWalk({ assetClass, dayMs, origin, authors, readText, sink: archive }),
    sessions: assetClass === "crypto" ? coins : listed,
    group: [],
    fellows: [],
  }));
  return {
    origin,
    revision,
    classes,
    authors,
    readMentions: mentionReader(authors),
    at: Number.NEGATIVE_INFINITY,
    list: [],
    places: new Map(),
  };
}

/** Sorts the instruments into their classes, once as long as the market's list is the same. */
function arrange(journey: Journey, list: readonly InstrumentRecords[]): void {
  if (journey.list === list) return;
  journey.list = list;
  const places = new Map<string, Place>();
  const isCoin = ({ instrument }: InstrumentRecords) => instrument.assetClass === "crypto";
  const [coins, listed] = [list.filter(isCoin), list.filter((records) => !isCoin(records))];
  for (const group of journey.classes) {
    group.fellows = group.assetClass === "crypto" ? coins : listed;
    group.group = group.fellows.filter((one) => one.instrument.assetClass === group.assetClass);
    for (const [position, records] of group.group.entries()) {
      places.set(records.instrument.symbol, { group, position });
    }
  }
  journey.places = places;
}

const recordsOf = (places: readonly Place[] = []): readonly InstrumentRecords[] =>
  places.map(({ group, position }) => group.group[position] as InstrumentRecords);

/** The newest close of a class by an instant; 0 before the first. */
const newestClose = ({ sessions: { closes } }: ClassGroup, at: number): number =>
  closes.findLast((close) => close <= at) ?? 0;

/** Whether a session of a class closed after an instant and by `at`. */
const hasClosed = (one: ClassGroup, after: number, at: number): boolean =>
  one.group.length > 0 && newestClose(one, at) > after;

/** What a class's walk needs to know of an instant. */
function viewOf(market: Market, one: ClassGroup, at: number) {
  const { group, sessions, assetClass } = one;
  const newest = newestClose(one, at);
  // A session of a 24-hour market closes at the first instant of the next day.
  const isSameSession =
    market.sessionAt(at, assetClass) === market.sessionAt(newest - 1, assetClass);
  return { group, closes: sessions.closes, at, isSameSession };
}

/** Tells the memory of authors what was written on any instrument, each message once. */
function mentionReader(authors: AuthorActivity) {
  const newMentions = createGroupReader(({ mentions }) => mentions);
  return (list: readonly InstrumentRecords[], at: number) => {
    for (const { author, availableAt } of newMentions(list, at)) {
      if (author !== null) authors.add(author, availableAt);
    }
  };
}
