import { createBlockPressure } from "../factors/block-pressure.ts";
import type { DarkpoolMeasurement } from "../factors/darkpool.ts";
import { type Filings, readFilings } from "../factors/filings.ts";
import { type Heard, socialHalfLifeMs } from "../factors/message-counters.ts";
import { type MomentumMeasurement, measureMomentum } from "../factors/momentum.ts";
import { createNetworkValue, type NetworkValue } from "../factors/network-value.ts";
import { createShortPressure } from "../factors/short-pressure.ts";
import { measureValuation, type ValuationMeasurement } from "../factors/valuation.ts";
import { createReader } from "../market/point-in-time.ts";
import type {
  Bar,
  Fundamental,
  InstrumentRecords,
  OnChain,
  Print,
  ShortVolume,
} from "../market/records.ts";
import { type Conversation, createConversation } from "./conversation.ts";

/** What one instrument measures at one instant, before it is compared with its peers. */
export interface Measurement {
  readonly momentum: MomentumMeasurement | undefined;
  readonly valuation: ValuationMeasurement | undefined;
  readonly darkpool: DarkpoolMeasurement;
  readonly heard: Heard;
}

/** One instrument while time moves forward over its records. */
export interface Track {
  /** Known bars, oldest first. */
  readonly bars: readonly Bar[];
  readonly networkValue: NetworkValue;
  readonly filings: Filings;
  readonly conversation: Conversation;
  /** Takes in everything that became known up to `at` (Unix milliseconds, never falling). */
  advance(records: InstrumentRecords, at: number): void;
  /** Measures what is known since the last `advance`. */
  measure(at: number): Measurement;
  /** Begins a session: what the one before left behind becomes the past. */
  beginSession(): void;
  /** Ends the session at its close. */
  closeSession(at: number): void;
}

/** Starts to follow an instrument before its first record. */
export function createTrack({ instrument }: InstrumentRecords, dayMs: number): Track {
  const { assetClass, sector } = instrument;
  const conversation = createConversation(socialHalfLifeMs(assetClass, dayMs), dayMs);
  const bars = createLog<Bar>();
  const networkValue = createNetworkValue();
  const newOnChain = createReader<OnChain>();
  const fundamentals = createLog<Fundamental>();
  const newPrints = createReader<Print>();
  const newShortVolumes = createReader<ShortVolume>();
  const block = createBlockPressure();
  const short = createShortPressure();
  let filings = readFilings([], dayMs);

  return {
    bars: bars.known,
    networkValue,
    conversation,
    get filings() {
      return filings;
    },
    advance(records, at) {
      bars.advance(records.bars, at);
      newOnChain(records.onChain ?? [], at).forEach(networkValue.add);
      const filed = fundamentals.advance(records.fundamentals ?? [], at);
      if (filed > 0) filings = readFilings(fundamentals.known, dayMs);
      newPrints(records.prints ?? [], at).forEach(block.add);
      newShortVolumes(records.shortVolumes ?? [], at).forEach(short.add);
      conversation.advance(records.mentions ?? [], at);
    },
    beginSession() {
      conversation.beginSession();
      block.beginSession();
    },
    closeSession(at) {
      conversation.closeSession(at);
      block.closeSession();
    },
    measure: (at) => ({
      momentum: measureMomentum(bars.known, assetClass, dayMs),
      valuation: measureValuation({ filings, bars: bars.known, sector, at, dayMs }),
      darkpool: { block: block.read(), short: short.read() },
      heard: conversation.heardAt(at),
    }),
  };
}

/** The known part of one growing list. */
function createLog<R extends Bar | Fundamental>() {
  const read = createReader<R>();
  const known: R[] = [];
  return {
    known: known as readonly R[],
    /** Appends what became known and says how many records that were. */
    advance(list: readonly R[], at: number): number {
      const fresh = read(list, at);
      for (const record of fresh) known.push(record);
      return fresh.length;
    },
  };
}
