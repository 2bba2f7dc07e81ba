import type { Benchmark } from "../factors/benchmark.ts";
import {
  type BlockPressureTracker,
  createBlockPressureTracker,
  NO_BLOCK_READING,
} from "../factors/block-pressure.ts";
import { addCoinBar, type CoinHistory, createCoinHistory } from "../factors/coin-history.ts";
import type { DarkpoolMeasurement } from "../factors/darkpool.ts";
import {
  EARNINGS_SURPRISE_RULES,
  type EarningsSurprise,
  measureEarningsSurprise,
} from "../factors/earnings-surprise.ts";
import {
  type FilingFigures,
  type KnownFigure,
  NO_FILING_FIGURES,
  readFilingFigures,
  type StockSplit,
  sharesOutstanding,
} from "../factors/filings.ts";
import {
  type MomentumMeasurement,
  measureCoinMomentum,
  measureListedMomentum,
} from "../factors/momentum.ts";
import { createNetworkValueTracker, type NetworkValueTracker } from "../factors/network-value.ts";
import { addBar, type PriceHistory } from "../factors/price-history.ts";
import {
  createShortPressureTracker,
  NO_SHORT_READING,
  type ShortPressureTracker,
} from "../factors/short-pressure.ts";
import type { Instrument } from "../market/instrument.ts";
import { countKnownRecords, createRecordReader, laterInstant } from "../market/point-in-time.ts";
import type {
  Bar,
  Fundamental,
  InstrumentRecords,
  OnChainFigures,
  PointInTimeRecord,
  Print,
  RecordList,
  ShortVolume,
} from "../market/records.ts";
import { type AttentionReading, NO_ATTENTION } from "../messages/attention.ts";
import { NO_SENTIMENT, type Sentiment, socialHalfLifeMs } from "../messages/message-counters.ts";
import type { AuthorActivity } from "../messages/message-weight.ts";
import { decayFactor, ewmaStep } from "../statistics/statistics.ts";
import type { CandidateReading } from "./candidate.ts";
import type { ExposurePercentiles } from "./exposures.ts";
import {
  createMessageStream,
  type MessageStream,
  type MessageTextAnalyzer,
} from "./message-stream.ts";
import type { SignalState } from "./signal-hysteresis.ts";
import { STEADINESS_RULES, type SteadinessReading } from "./steadiness.ts";
import type { StockStanding } from "./stock-score.ts";

/** Raw measurements of one instrument at one instant, before the comparison with its peers. */
export interface InstrumentMeasurement {
  readonly momentum: MomentumMeasurement | undefined;
  readonly darkpool: DarkpoolMeasurement;
  readonly sentiment: Sentiment;
  readonly attention: AttentionReading;
}

/**
 * Running state of one instrument while its records are replayed. Members for feeds that the
 * instrument lacks are `undefined`.
 */
export interface InstrumentState {
  readonly instrument: Instrument;
  /** Signal as of the newest close. */
  signal: SignalState | undefined;
  /** Number of known bars, and the newest bar. */
  bars: number;
  newestBar: Bar | undefined;
  /** Prefetched bars, from position `aheadFrom` on, some of which may not be known yet. */
  ahead: readonly Bar[];
  aheadFrom: number;
  /** Exponentially weighted mean of the turnover per session, in quote currency. */
  turnover: number | undefined;
  /** Whether the instrument belongs to the benchmark of its class. */
  isBenchmarked: boolean;
  readonly listed: PriceHistory | undefined;
  readonly coin: CoinHistory | undefined;
  /** Splits known so far. */
  splits: readonly StockSplit[];
  readonly readFigures: ReturnType<typeof createRecordReader<Fundamental>> | undefined;
  /** Number of known fundamental figures, and a summary of them. */
  filed: number;
  filings: FilingFigures;
  /** Shares outstanding according to the filings and splits known so far. */
  shares: KnownFigure | undefined;
  /**
   * Earnings surprise of the newest quarter, and the number of bars known when the quarter was
   * filed.
   */
  surprise: (EarningsSurprise & { readonly bars: number }) | undefined;
  /**
   * Result of the candidate method at the newest close; `undefined` if the instrument did not trade
   * in that session.
   */
  candidate: CandidateReading | undefined;
  /** Steadiness at the newest close; `undefined` if the instrument was not ranked there. */
  steadiness: SteadinessReading | undefined;
  /** Exposures at the newest close; `undefined` if the instrument did not trade in that session. */
  exposures: ExposurePercentiles | undefined;
  /** Standing at the newest close; `undefined` if the stock did not trade in that session. */
  standing: StockStanding | undefined;
  readonly messages: MessageStream | undefined;
  readonly block: Feed<Print, BlockPressureTracker> | undefined;
  readonly short: Feed<ShortVolume, ShortPressureTracker> | undefined;
  readonly network: Feed<OnChainFigures, NetworkValueTracker> | undefined;
}

/** Half-life of the turnover average in sessions. */
const TURNOVER_HALF_LIFE = 21;

const TURNOVER_DECAY = decayFactor(1, TURNOVER_HALF_LIFE);

/**
 * Number of bars to read at once, since a list may have to unpack each bar, and reading the next
 * instrument in between evicts the list from the CPU cache.
 */
const BARS_AHEAD = 3;

/**
 * When the newest record of each kind became known for any instrument of a class, Unix
 * milliseconds; `null` if there is none.
 */
interface FeedTimes {
  mentions: number | null;
  /** When the newest print or short volume became known. */
  offExchange: number | null;
}

/** State shared by the instruments of a class. */
export interface ClassContext {
  readonly benchmark: Benchmark;
  readonly feedTimes: FeedTimes;
  readonly authors: AuthorActivity;
  readonly readText: MessageTextAnalyzer;
  readonly newPriceHistory: () => PriceHistory;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Empty lists, shared by all instruments to save memory. */
const NO_SPLITS: readonly StockSplit[] = [];
const NO_BARS: readonly Bar[] = [];

/** Creates the state of an instrument before its first record. */
export function createInstrumentState(
  { instrument, fundamentals, mentions, prints, shortVolumes, onChain }: InstrumentRecords,
  { dayMs, authors, readText, newPriceHistory }: ClassContext,
): InstrumentState {
  const isCoin = instrument.assetClass === "crypto";
  const halfLifeMs = socialHalfLifeMs(instrument.assetClass, dayMs);
  return {
    instrument,
    signal: undefined,
    bars: 0,
    newestBar: undefined,
    ahead: NO_BARS,
    aheadFrom: 0,
    turnover: undefined,
    isBenchmarked: true,
    listed: isCoin ? undefined : newPriceHistory(),
    coin: isCoin ? createCoinHistory() : undefined,
    splits: NO_SPLITS,
    readFigures: fundamentals && createRecordReader<Fundamental>(),
    filed: 0,
    filings: NO_FILING_FIGURES,
    shares: undefined,
    surprise: undefined,
    candidate: undefined,
    steadiness: undefined,
    exposures: undefined,
    standing: undefined,
    messages: mentions && createMessageStream({ halfLifeMs, dayMs, authors, readText }),
    block: prints && createFeed(createBlockPressureTracker()),
    short: shortVolumes && createFeed(createShortPressureTracker()),
    network: onChain && createFeed(createNetworkValueTracker()),
  };
}

/** Records of an instrument, and the instant up to which to read them. */
interface View {
  readonly records: InstrumentRecords;
  /** Unix milliseconds; never decreases. */
  readonly at: number;
}

/** Updates the state with all records that became known up to an instant. */
export function advanceInstrument(state: InstrumentState, view: View, shared: ClassContext): void {
  const { records, at } = view;
  let next = nextBar(state, records.bars);
  for (; next && next.availableAt <= at; next = nextBar(state, records.bars)) {
    takeBar(state, next, shared.benchmark);
  }
  const { messages, block, short, network } = state;
  takeFilings(state, view, shared.dayMs);
  if (network !== undefined) accumulate(network, records.onChain, at);
  const { feedTimes } = shared;
  if (block !== undefined) {
    feedTimes.offExchange = laterInstant(
      feedTimes.offExchange,
      accumulate(block, records.prints, at),
    );
  }
  if (short !== undefined) {
    feedTimes.offExchange = laterInstant(
      feedTimes.offExchange,
      accumulate(short, records.shortVolumes, at),
    );
  }
  if (messages !== undefined) {
    messages.advance(records.mentions ?? [], at);
    feedTimes.mentions = laterInstant(feedTimes.mentions, messages.newestAt);
  }
}

/** The first unprocessed bar, which may not be known yet; `undefined` if there is none. */
function nextBar(state: InstrumentState, bars: RecordList<Bar>): Bar | undefined {
  const read = state.ahead[state.bars - state.aheadFrom];
  if (read !== undefined) return read;
  state.aheadFrom = state.bars;
  const isAtEnd = state.bars >= bars.length;
  state.ahead = isAtEnd ? NO_BARS : bars.slice(state.bars, state.bars + BARS_AHEAD);
  return state.ahead[0];
}

function takeFilings(
  state: InstrumentState,
  { records: { fundamentals, bars }, at }: View,
  dayMs: number,
): void {
  if (fundamentals === undefined || state.readFigures === undefined) return;
  const fresh = state.readFigures(fundamentals, at);
  if (fresh.length === 0) return;
  state.filed += fresh.length;
  const known = fundamentals.slice(0, state.filed);
  state.filings = readFilingFigures(known, dayMs);
  state.shares = sharesOutstanding(state.filings.shareCounts, state.splits);
  const surprise = measureEarningsSurprise(known, dayMs);
  state.surprise = surprise && {
    ...surprise,
    bars: countKnownRecords(bars, surprise.availableAt),
  };
}

function takeBar(state: InstrumentState, known: Bar, benchmark: Benchmark): void {
  const { listed, coin } = state;
  // The return between two extreme prices may overflow, and is then treated as unknown.
  const bar = Number.isFinite(known.logReturn) ? known : { ...known, logReturn: null };
  if (state.isBenchmarked) benchmark.note(bar);
  if (listed !== undefined) {
    addBar(listed, bar, { session: benchmark.sessionOf(bar), market: benchmark.returns });
  }
  if (coin !== undefined) addCoinBar(coin, bar);
  const value = coin === undefined ? bar.volume * bar.close : bar.volume;
  state.turnover = ewmaStep(state.turnover, value, TURNOVER_DECAY);
  if (bar.split !== 1) {
    state.splits = [...state.splits, { availableAt: bar.availableAt, split: bar.split }];
    state.shares = sharesOutstanding(state.filings.shareCounts, state.splits);
  }
  state.newestBar = bar;
  state.bars++;
}

/** Measures an instrument whose state has been advanced to `at`. */
export function measureInstrument(
  state: InstrumentState,
  at: number,
  dayMs: number,
): InstrumentMeasurement {
  const { listed, coin, messages } = state;
  return {
    momentum: listed ? measureListedMomentum(listed) : coin && measureCoinMomentum(coin, dayMs),
    darkpool: measureOffExchange(state),
    sentiment: messages?.sentimentAt(at) ?? NO_SENTIMENT,
    attention: messages?.attentionAt(at) ?? NO_ATTENTION,
  };
}

/**
 * Standardized unexpected earnings, if the filing is at most `EARNINGS_SURPRISE_RULES.sessions`
 * old; else `NaN`.
 */
export function freshSurprise({ surprise, bars }: InstrumentState): number {
  if (surprise === undefined) return Number.NaN;
  return bars - surprise.bars <= EARNINGS_SURPRISE_RULES.sessions ? surprise.value : Number.NaN;
}

/**
 * Minus the net income of the newest quarter divided by the newest total assets; `NaN` if either is
 * unknown, or the net income was filed more than `maxEarningsAgeDays` ago.
 */
export function lossOnAssets({ filings }: InstrumentState, at: number, dayMs: number): number {
  const { netIncome, assets } = filings.newest;
  if (netIncome === undefined || assets === undefined || !(assets.value > 0)) return Number.NaN;
  const ageDays = (at - netIncome.availableAt) / dayMs;
  return ageDays <= STEADINESS_RULES.maxEarningsAgeDays
    ? -netIncome.value / assets.value
    : Number.NaN;
}

/** Shared measurement of instruments that have neither prints nor short volumes. */
const NO_OFF_EXCHANGE: DarkpoolMeasurement = { block: NO_BLOCK_READING, short: NO_SHORT_READING };

function measureOffExchange({ block, short }: InstrumentState): DarkpoolMeasurement {
  if (block === undefined && short === undefined) return NO_OFF_EXCHANGE;
  return {
    block: block?.accumulator.read() ?? NO_BLOCK_READING,
    short: short?.accumulator.read() ?? NO_SHORT_READING,
  };
}

/**
 * Begins a session unless it has already begun: the results of the previous session move into the
 * history.
 */
export function beginSession({ messages, block }: InstrumentState): void {
  messages?.beginSession();
  block?.accumulator.beginSession();
}

/** Ends a session at its close. */
export function endSession({ messages, block }: InstrumentState, at: number): void {
  messages?.closeSession(at);
  block?.accumulator.closeSession();
}

/** A running statistic updated record by record. */
interface Accumulator<R> {
  add(record: R): void;
}

/** A running statistic, and the reader of the growing list of records that it is computed from. */
interface Feed<R extends PointInTimeRecord, T extends Accumulator<R>> {
  readonly accumulator: T;
  readonly read: ReturnType<typeof createRecordReader<R>>;
}

/** Creates a feed that starts before the first record. */
const createFeed = <R extends PointInTimeRecord, T extends Accumulator<R>>(
  accumulator: T,
): Feed<R, T> => ({
  accumulator,
  read: createRecordReader<R>(),
});

/**
 * Adds to the statistic the records that became known up to `at` (Unix milliseconds, never
 * decreasing).
 *
 * @returns When the newest of these records became known; `null` if there was none.
 */
function accumulate<R extends PointInTimeRecord, T extends Accumulator<R>>(
  { accumulator, read }: Feed<R, T>,
  list: RecordList<R> | undefined,
  at: number,
): number | null {
  if (list === undefined) return null;
  const fresh = read(list, at);
  for (const record of fresh) accumulator.add(record);
  return fresh.at(-1)?.availableAt ?? null;
}
