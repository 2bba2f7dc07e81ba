import { BROAD_FUNDS } from "../factors/benchmark.ts";
import { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import type { InstrumentRecords } from "../market/records.ts";
import { type AuthorActivity, createAuthorActivity } from "../messages/message-weight.ts";
import { ClassScorer, type SnapshotSink } from "./class-scorer.ts";
import { createMessageTextAnalyzer, type MessageTextAnalyzer } from "./message-stream.ts";
import { RecordSeries } from "./record-series.ts";
import type { SavedSignalsStore } from "./saved-signals.ts";
import { createGroupReader, createSessionCloses, type SessionCloses } from "./session-closes.ts";

/** Stores the snapshots of a replay. */
export interface SnapshotArchive extends SnapshotSink {
  /**
   * Begins a new replay; its snapshots are stored separately from the snapshots of the previous
   * replay.
   */
  clear(): void;
  /**
   * Called when the replay has caught up: its snapshots then replace the snapshots of the previous
   * replay.
   */
  publish?(): void;
  /** Drops the final snapshots of sessions that closed before an instant, Unix milliseconds. */
  forgetBefore?(at: number): void;
}

/** The instruments of one class and their calendar. */
interface ClassGroup {
  readonly assetClass: AssetClass;
  /** `undefined` before the first instrument. */
  scorer: ClassScorer | undefined;
  readonly sessions: SessionCloses;
  group: readonly InstrumentRecords[];
  /** All instruments with the same calendar, since stocks and funds trade in the same sessions. */
  calendarPeers: readonly InstrumentRecords[];
  /** Of stocks: a broad fund, if one is covered. */
  fund: InstrumentRecords | undefined;
}

/** A replay of the records of all classes from the first session on. */
interface ReplayRun {
  readonly scoredFrom: number;
  readonly revision: number | undefined;
  readonly classes: readonly ClassGroup[];
  /** Closes of the sessions of listed securities and of coins, Unix milliseconds. */
  readonly calendars: readonly (readonly number[])[];
  readonly series: RecordSeries;
  readonly authors: AuthorActivity;
  readonly readMentions: (records: readonly InstrumentRecords[], at: number) => void;
  /** Snapshots of sessions that close before this instant are not stored, Unix milliseconds. */
  servedFrom: number;
  /** The list of records from which the groups were formed. */
  list: readonly InstrumentRecords[];
}

/** Turns the records of one market into snapshots, session by session. */
export class ScoringEngine {
  readonly #market: Market;
  readonly #archive: SnapshotArchive;
  readonly #readText: MessageTextAnalyzer;
  readonly #keeper: SavedSignalsStore | undefined;
  #run: ReplayRun | undefined;

  /**
   * @param keeper Stores signals of earlier replays with the same method, from which a replay can
   * continue; without it, every session is scored.
   */
  constructor(market: Market, archive: SnapshotArchive, keeper?: SavedSignalsStore | undefined) {
    this.#market = market;
    this.#archive = archive;
    this.#readText = createMessageTextAnalyzer();
    this.#keeper = keeper;
  }

  /**
   * Updates every instrument to `at` (Unix milliseconds, never decreasing). The result depends only
   * on the market and `at`, since signals are carried forward from the first session.
   */
  refresh(at: number): void {
    for (const _ of this.refreshInSteps(at));
  }

  /**
   * Like `refresh`, but scores one session of one class per step, so that the event loop can run in
   * between. The engine must not be used until the generator has ended; after an abandoned
   * generator the next call starts over.
   */
  *refreshInSteps(at: number): Generator<void, void> {
    const run = this.#runAt(at);
    // Cleared until the end, so that a replay that fails or is abandoned is not continued.
    this.#run = undefined;
    yield* this.#advanceAll(run, at);
    this.#archive.publish?.();
    this.#run = run;
  }

  /** Largest difference found between a running sum and its recomputation, in log units. */
  drift(): number {
    return Math.max(0, ...(this.#run?.classes ?? []).map(({ scorer }) => scorer?.drift ?? 0));
  }

  /** The current replay, or a new one if scoring has to start over. */
  #runAt(at: number): ReplayRun {
    const scoredFrom = this.#market.scoredFrom?.(at) ?? Number.NEGATIVE_INFINITY;
    const servedFrom = this.#market.servedFrom(at);
    const list = this.#market.recordsUntil(at);
    const revision = this.#market.revision?.();
    if (this.#run?.scoredFrom !== scoredFrom || this.#run.revision !== revision) {
      this.#archive.clear();
      this.#run = this.#startRun({ scoredFrom, servedFrom, revision });
    } else if (this.#run.servedFrom !== servedFrom) {
      this.#archive.forgetBefore?.(servedFrom);
      this.#run.servedFrom = servedFrom;
    }
    groupByClass(this.#run, list);
    return this.#run;
  }

  #startRun(start: Pick<ReplayRun, "scoredFrom" | "servedFrom" | "revision">): ReplayRun {
    const { dayMs } = this.#market;
    const authors = createAuthorActivity(dayMs);
    const listed = createSessionCloses(this.#market, "stock");
    const coins = createSessionCloses(this.#market, "crypto");
    return {
      ...start,
      classes: AssetClass.options.map((assetClass) => ({
        assetClass,
        scorer: undefined,
        sessions: assetClass === "crypto" ? coins : listed,
        group: [],
        calendarPeers: [],
        fund: undefined,
      })),
      calendars: [listed.closes, coins.closes],
      series: new RecordSeries(),
      authors,
      readMentions: mentionReader(authors),
      list: [],
    };
  }

  /**
   * Creates a scorer for a class. It continues from stored signals if the records that were known
   * at their close are unchanged.
   */
  #startScorer(assetClass: AssetClass, run: ReplayRun): ClassScorer {
    const { scoredFrom, servedFrom, authors, series } = run;
    return new ClassScorer({
      assetClass,
      dayMs: this.#market.dayMs,
      scoredFrom,
      kept: this.#keeper?.newest(assetClass, servedFrom, series),
      authors,
      readText: this.#readText,
      sink: this.#archive,
      series,
    });
  }

  *#advanceAll(run: ReplayRun, at: number): Generator<void, void> {
    for (const one of run.classes) one.sessions.advance(one.calendarPeers, at);
    yield* run.series.extend(run.list, run.calendars, at);
    run.readMentions(run.list, at);
    for (const one of run.classes) {
      if (one.group.length === 0) continue;
      one.scorer ??= this.#startScorer(one.assetClass, run);
      for (const step of one.scorer.advance(viewOf(this.#market, one, run, at))) {
        this.#keepSignals(one, one.scorer, run.series);
        yield step;
      }
    }
    run.authors.forget(at);
  }

  /**
   * Stores the signals at the last close before `servedFrom` moves on, so that a later replay can
   * continue from there.
   */
  #keepSignals(
    { assetClass, sessions: { closes } }: ClassGroup,
    scorer: ClassScorer,
    series: RecordSeries,
  ): void {
    const at = scorer.scoredAt;
    if (this.#keeper === undefined || at === undefined) return;
    const next = closes[scorer.sessions];
    if (next === undefined || this.#market.servedFrom(next) === this.#market.servedFrom(at)) return;
    this.#keeper.keep({ assetClass, at, series: series.at(at), signals: scorer.signals() });
  }
}

/** Groups the instruments by class, if the market has a new list. */
function groupByClass(run: ReplayRun, list: readonly InstrumentRecords[]): void {
  if (run.list === list) return;
  run.list = list;
  const isCoin = ({ instrument }: InstrumentRecords) => instrument.assetClass === "crypto";
  const [coins, listed] = [list.filter(isCoin), list.filter((records) => !isCoin(records))];
  for (const group of run.classes) {
    group.calendarPeers = group.assetClass === "crypto" ? coins : listed;
    group.group = group.calendarPeers.filter(
      ({ instrument }) => instrument.assetClass === group.assetClass,
    );
    if (group.assetClass === "stock") group.fund = broadFundOf(listed);
  }
}

/** The newest close of a class at or before an instant, Unix milliseconds; 0 if there is none. */
const newestClose = ({ sessions: { closes } }: ClassGroup, at: number): number =>
  closes.findLast((close) => close <= at) ?? 0;

/** The records and calendar that a class scorer reads at an instant. */
function viewOf(market: Market, one: ClassGroup, { servedFrom }: ReplayRun, at: number) {
  const { group, sessions, assetClass } = one;
  const newest = newestClose(one, at);
  // A session of a 24-hour market closes at the first instant of the next day.
  const isSameSession =
    market.sessionAt(at, assetClass) === market.sessionAt(newest - 1, assetClass);
  return { group, closes: sessions.closes, at, isSameSession, servedFrom, fund: one.fund };
}

/** The first broad fund that is covered. */
function broadFundOf(listed: readonly InstrumentRecords[]): InstrumentRecords | undefined {
  const bySymbol = new Map(listed.map((records) => [records.instrument.symbol, records]));
  const symbol = BROAD_FUNDS.find((one) => bySymbol.get(one)?.instrument.assetClass === "etf");
  return symbol === undefined ? undefined : bySymbol.get(symbol);
}

/** Creates a function that adds each new message to the activity of its author. */
function mentionReader(authors: AuthorActivity) {
  const newMentions = createGroupReader(({ mentions }) => mentions);
  return (list: readonly InstrumentRecords[], at: number) => {
    for (const { author, availableAt } of newMentions(list, at)) {
      if (author !== null) authors.add(author, availableAt);
    }
  };
}
