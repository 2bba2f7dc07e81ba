import { type AttentionReading, NO_ATTENTION } from "../factors/attention.ts";
import type { Benchmark } from "../factors/benchmark.ts";
import { type BlockPressure, createBlockPressure, NO_BLOCKS } from "../factors/block-pressure.ts";
import { addCoinBar, type CoinHistory, createCoinHistory } from "../factors/coin-history.ts";
import type { DarkpoolMeasurement } from "../factors/darkpool.ts";
import { type Filings, NO_FILINGS, readFilings, type Split } from "../factors/filings.ts";
import { listedMomentum } from "../factors/listed-momentum.ts";
import { type Heard, NOTHING_HEARD, socialHalfLifeMs } from "../factors/message-counters.ts";
import type { AuthorActivity } from "../factors/message-weight.ts";
import { coinMomentum, type MomentumMeasurement } from "../factors/momentum.ts";
import { createNetworkValue, type NetworkValue } from "../factors/network-value.ts";
import { addBar, type PriceHistory } from "../factors/price-history.ts";
import { createShortPressure, NO_SHORTS, type ShortPressure } from "../factors/short-pressure.ts";
import { decay, ewStep } from "../factors/statistics.ts";
import type { ValuedStock } from "../factors/valuation.ts";
import { createYieldHistory, type YieldHistory } from "../factors/yield-history.ts";
import { measureValuation } from "../factors/yields.ts";
import type { Instrument } from "../market/instrument.ts";
import { countKnown, createReader, latest } from "../market/point-in-time.ts";
import type {
  Bar,
  InstrumentRecords,
  Known,
  OnChain,
  Print,
  RecordList,
  ShortVolume,
} from "../market/records.ts";
import { type Conversation, createConversation, type TextReader } from "./message-stream.ts";
import type { SignalState } from "./signal-hysteresis.ts";

/** What one instrument measures at one instant, before it is compared with its peers. */
export interface Measurement {
  readonly momentum: MomentumMeasurement | undefined;
  readonly valuation: ValuedStock | undefined;
  readonly darkpool: DarkpoolMeasurement;
  readonly heard: Heard;
  readonly attention: AttentionReading;
}

/** One instrument while time moves forward over its records. A feed that it lacks is absent. */
export interface Track {
  readonly instrument: Instrument;
  /** Where the signal stands after the newest close. */
  signal: SignalState | undefined;
  /** Known bars, and the newest of them. */
  bars: number;
  newestBar: Bar | undefined;
  /** Typical value of a session's trading in quote currency. */
  turnover: number | undefined;
  /** Whether the instrument is part of its class's benchmark. */
  isBenchmarked: boolean;
  readonly listed: PriceHistory | undefined;
  readonly coin: CoinHistory | undefined;
  readonly splits: Split[];
  /** Known figures of filings, and what they say. */
  filed: number;
  filings: Filings;
  readonly yields: YieldHistory | undefined;
  readonly conversation: Conversation | undefined;
  readonly block: Feed<Print, BlockPressure> | undefined;
  readonly short: Feed<ShortVolume, ShortPressure> | undefined;
  readonly network: Feed<OnChain, NetworkValue> | undefined;
}

/** Half-life in sessions of what counts as typical turnover. */
const TURNOVER_HALF_LIFE = 21;

/** When the newest record of a kind became known in a class, Unix milliseconds, `null` for never. */
export interface FeedTimes {
  mentions: number | null;
  /** Prints and short volumes. */
  offExchange: number | null;
}

/** What the tracks of a class share. */
export interface Surroundings {
  readonly benchmark: Benchmark;
  readonly feedTimes: FeedTimes;
  readonly authors: AuthorActivity;
  readonly readText: TextReader;
  readonly newPriceHistory: () => PriceHistory;
  /** Length of a market day in milliseconds. */
  readonly dayMs: number;
}

/** Starts to follow an instrument before its first record. */
export function createTrack(
  { instrument, fundamentals, mentions, prints, shortVolumes, onChain }: InstrumentRecords,
  { dayMs, authors, readText, newPriceHistory }: Surroundings,
): Track {
  const isCoin = instrument.assetClass === "crypto";
  const halfLifeMs = socialHalfLifeMs(instrument.assetClass, dayMs);
  return {
    instrument,
    signal: undefined,
    bars: 0,
    newestBar: undefined,
    turnover: undefined,
    isBenchmarked: true,
    listed: isCoin ? undefined : newPriceHistory(),
    coin: isCoin ? createCoinHistory() : undefined,
    splits: [],
    filed: 0,
    filings: NO_FILINGS,
    yields: fundamentals && createYieldHistory(dayMs),
    conversation: mentions && createConversation({ halfLifeMs, dayMs, authors, readText }),
    block: prints && createFeed(createBlockPressure()),
    short: shortVolumes && createFeed(createShortPressure()),
    network: onChain && createFeed(createNetworkValue()),
  };
}

/** A track's own records, and how far to read them. */
interface View {
  readonly records: InstrumentRecords;
  /** Unix milliseconds, never falling. */
  readonly at: number;
}

/** Takes in everything that became known up to an instant. */
export function advanceTrack(track: Track, view: View, surroundings: Surroundings): void {
  const { records, at } = view;
  const nextBar = () => records.bars.at(track.bars);
  for (let bar = nextBar(); bar && bar.availableAt <= at; bar = nextBar()) {
    takeBar(track, bar, surroundings.benchmark);
  }
  const { conversation, block, short, network, yields } = track;
  if (yields !== undefined) takeFilings(track, view, surroundings.dayMs);
  if (network !== undefined) takeNew(network, records.onChain, at);
  const { feedTimes } = surroundings;
  if (block !== undefined) {
    feedTimes.offExchange = latest(feedTimes.offExchange, takeNew(block, records.prints, at));
  }
  if (short !== undefined) {
    feedTimes.offExchange = latest(feedTimes.offExchange, takeNew(short, records.shortVolumes, at));
  }
  if (conversation !== undefined) {
    conversation.advance(records.mentions ?? [], at);
    feedTimes.mentions = latest(feedTimes.mentions, conversation.newestAt);
  }
}

function takeFilings(track: Track, { records: { fundamentals }, at }: View, dayMs: number): void {
  const next = fundamentals?.at(track.filed);
  if (fundamentals === undefined || next === undefined || next.availableAt > at) return;
  track.filed = countKnown(fundamentals, at);
  track.filings = readFilings(fundamentals.slice(0, track.filed), dayMs);
}

function takeBar(track: Track, known: Bar, benchmark: Benchmark): void {
  const { listed, coin } = track;
  // The return between two absurd prices may be no number: it is not known.
  const bar = Number.isFinite(known.logReturn) ? known : { ...known, logReturn: null };
  if (track.isBenchmarked) benchmark.note(bar);
  if (listed !== undefined) {
    addBar(listed, bar, { session: benchmark.sessionOf(bar), market: benchmark.returns });
  }
  if (coin !== undefined) addCoinBar(coin, bar);
  const value = coin === undefined ? bar.volume * bar.close : bar.volume;
  track.turnover = ewStep(track.turnover, value, decay(1, TURNOVER_HALF_LIFE));
  if (bar.split !== 1) track.splits.push({ availableAt: bar.availableAt, split: bar.split });
  track.newestBar = bar;
  track.bars++;
}

/** Measures what is known since the track was advanced. */
export function measureTrack(track: Track, at: number, dayMs: number): Measurement {
  const { listed, coin, conversation } = track;
  return {
    momentum: listed ? listedMomentum(listed) : coin && coinMomentum(coin, dayMs),
    valuation: valueTrack(track, at, dayMs),
    darkpool: measureOffExchange(track),
    heard: conversation?.heardAt(at) ?? NOTHING_HEARD,
    attention: conversation?.attentionAt(at) ?? NO_ATTENTION,
  };
}

/** Where neither prints nor short volumes are observed. */
const NO_OFF_EXCHANGE: DarkpoolMeasurement = { block: NO_BLOCKS, short: NO_SHORTS };

function measureOffExchange({ block, short }: Track): DarkpoolMeasurement {
  if (block === undefined && short === undefined) return NO_OFF_EXCHANGE;
  return { block: block?.state.read() ?? NO_BLOCKS, short: short?.state.read() ?? NO_SHORTS };
}

function valueTrack(track: Track, at: number, dayMs: number): ValuedStock | undefined {
  const { instrument, filings, newestBar, splits, yields } = track;
  if (yields === undefined) return undefined;
  const { sector } = instrument;
  const measurement = measureValuation({ filings, newestBar, splits, sector, at, dayMs });
  return measurement && { measurement, norms: yields.norms };
}

/** Begins a session, if it has not begun: what the one before left behind becomes the past. */
export function beginSession({ conversation, block }: Track): void {
  conversation?.beginSession();
  block?.state.beginSession();
}

/** Ends the session at its close. */
export function endSession(track: Track, at: number, dayMs: number): void {
  const { conversation, block, yields } = track;
  conversation?.closeSession(at);
  block?.state.closeSession();
  if (yields?.isDue(at)) yields.add(valueTrack(track, at, dayMs)?.measurement.yields ?? {}, at);
}

/** What takes records in, one by one. */
interface Intake<R> {
  add(record: R): void;
}

/** One growing list of an instrument and what it feeds. */
interface Feed<R extends Known, T extends Intake<R>> {
  readonly state: T;
  readonly read: ReturnType<typeof createReader<R>>;
}

/** Starts before the first record. */
const createFeed = <R extends Known, T extends Intake<R>>(state: T): Feed<R, T> => ({
  state,
  read: createReader<R>(),
});

/**
 * Feeds what became known up to an instant (Unix milliseconds, never falling).
 *
 * @returns When the newest of it became known, `null` when there was nothing new.
 */
function takeNew<R extends Known, T extends Intake<R>>(
  { state, read }: Feed<R, T>,
  list: RecordList<R> | undefined,
  at: number,
): number | null {
  if (list === undefined) return null;
  const fresh = read(list, at);
  for (const record of fresh) state.add(record);
  return fresh.at(-1)?.availableAt ?? null;
}
