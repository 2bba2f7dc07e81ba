import { FACTOR_STATUSES, FACTORS, type FactorStatus, isSideUnknown } from "../factors/reading.ts";
import type { Instrument } from "../market/instrument.ts";
import { createPackedList, type PackedList, type RecordPacking } from "../market/packed-list.ts";
import { SERIES_HEX_DIGITS } from "./record-series.ts";
import { DIRECTIONS, FORCED_WAIT_REASONS, type SignalState } from "./signal-hysteresis.ts";
import {
  type FactorEvidence,
  factorEvidenceOf,
  SNAPSHOT_STATUSES,
  type Snapshot,
} from "./snapshot.ts";

/**
 * A snapshot with only the evidence of its factors, not their inputs, and without the peer tables,
 * the places among the peers, the result of the candidate method, the steadiness and the exposures.
 */
export interface SignalRecord
  extends Omit<
    Snapshot,
    "factors" | "tables" | "candidate" | "ranking" | "steadiness" | "exposures"
  > {
  readonly evidence: FactorEvidence;
}

/** Every possible list of missing factors, indexed by bit mask. */
const MISSING = Array.from({ length: 2 ** FACTORS.length }, (_, bits) =>
  FACTORS.filter((_, place) => bits & (1 << place)),
);

const bitsOf = ({ missingFactors }: Pick<Snapshot, "missingFactors">): number =>
  missingFactors.reduce((bits, factor) => bits | (1 << FACTORS.indexOf(factor)), 0);

/** `null` is encoded as NaN. */
const numberOrNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

/** Size of a packed signal in bytes. */
const SIGNAL_BYTES = 32;

function writeSignal(view: DataView, at: number, signal: SignalState): void {
  const { direction, since, previous, smoothed, mean, frozen, forcedWait } = signal;
  view.setFloat64(at, since);
  view.setFloat64(at + 8, smoothed ?? Number.NaN);
  view.setUint8(at + 16, DIRECTIONS.indexOf(direction));
  // `null` is encoded as -1, which is not a valid index.
  view.setInt8(at + 17, previous === null ? -1 : DIRECTIONS.indexOf(previous));
  view.setInt8(at + 18, forcedWait === null ? -1 : FORCED_WAIT_REASONS.indexOf(forcedWait));
  view.setUint8(at + 19, Number(frozen));
  view.setFloat64(at + 20, mean?.value ?? Number.NaN);
  view.setUint32(at + 28, mean?.sessions ?? 0);
}

function readMean(view: DataView, at: number): Pick<SignalState, "mean"> {
  const sessions = view.getUint32(at + 28);
  return sessions === 0 ? {} : { mean: { value: view.getFloat64(at + 20), sessions } };
}

const readSignal = (view: DataView, at: number): SignalState => ({
  direction: DIRECTIONS[view.getUint8(at + 16)] as SignalState["direction"],
  since: view.getFloat64(at),
  previous: DIRECTIONS[view.getInt8(at + 17)] ?? null,
  smoothed: numberOrNull(view.getFloat64(at + 8)),
  frozen: view.getUint8(at + 19) === 1,
  forcedWait: FORCED_WAIT_REASONS[view.getInt8(at + 18)] ?? null,
  ...readMean(view, at),
});

/** Size of the packed evidence of one factor in bytes. */
const FACTOR_BYTES = 25;

/**
 * Stands for the status `not_observed` of a factor whose feed shows only trades of unknown side.
 */
const SIDE_UNKNOWN = FACTOR_STATUSES.length;

type Summary = FactorEvidence[keyof FactorEvidence];

function statusByte({ status, asOf = null, isSideUnknown: isUnknown = false }: Partial<Summary>) {
  if (isUnknown) return SIDE_UNKNOWN;
  if (status === undefined) return -1;
  return isSideUnknown({ status, asOf }) ? SIDE_UNKNOWN : FACTOR_STATUSES.indexOf(status);
}

const readStatus = (byte: number): Pick<Summary, "isSideUnknown"> & { status: FactorStatus } =>
  byte === SIDE_UNKNOWN
    ? { status: "not_observed", isSideUnknown: true }
    : { status: FACTOR_STATUSES[byte] as FactorStatus };

function writeEvidence(view: DataView, at: number, evidence: FactorEvidence | undefined): void {
  for (const [place, factor] of FACTORS.entries()) {
    const summary: Partial<Summary> = evidence?.[factor] ?? {};
    const { z = null, confidence = 0, contribution = 0 } = summary;
    view.setFloat64(at + place * FACTOR_BYTES, z ?? Number.NaN);
    view.setFloat64(at + place * FACTOR_BYTES + 8, confidence);
    view.setFloat64(at + place * FACTOR_BYTES + 17, contribution);
    view.setUint8(at + place * FACTOR_BYTES + 16, statusByte(summary));
  }
}

function readEvidence(view: DataView, at: number): FactorEvidence {
  const read = (place: number) => {
    const z = numberOrNull(view.getFloat64(at + place * FACTOR_BYTES));
    const confidence = view.getFloat64(at + place * FACTOR_BYTES + 8);
    const status = readStatus(view.getUint8(at + place * FACTOR_BYTES + 16));
    const contribution = view.getFloat64(at + place * FACTOR_BYTES + 17);
    return { z, confidence, contribution, ...status };
  };
  return { momentum: read(0), valuation: read(1), social: read(2), darkpool: read(3) };
}

/** Byte offset of the evidence in a record. */
const EVIDENCE_AT = 50 + SIGNAL_BYTES;

/** Byte offset and size of the series id in a record. */
const SERIES_AT = EVIDENCE_AT + FACTORS.length * FACTOR_BYTES;
const SERIES_BYTES = SERIES_HEX_DIGITS / 2;

/** Reads the series id of a record; a missing id is encoded as 0. */
function readSeries(view: DataView, at: number): string | undefined {
  const digits = view.getBigUint64(at);
  return digits === 0n ? undefined : digits.toString(16).padStart(SERIES_HEX_DIGITS, "0");
}

/**
 * Binary layout of the records of one instrument, which takes a quarter of the memory of objects.
 */
const packedSignals = (
  instrument: Instrument,
): RecordPacking<Snapshot | SignalRecord, SignalRecord> => ({
  bytes: SERIES_AT + SERIES_BYTES,
  write(view, at, record) {
    const { score, confidence, coverage, price, status, signal } = record;
    view.setFloat64(at, record.at);
    view.setFloat64(at + 8, score ?? Number.NaN);
    view.setFloat64(at + 16, confidence);
    view.setFloat64(at + 24, coverage);
    view.setFloat64(at + 32, price?.value ?? Number.NaN);
    view.setFloat64(at + 40, price?.at ?? Number.NaN);
    view.setUint8(at + 48, SNAPSHOT_STATUSES.indexOf(status));
    view.setUint8(at + 49, bitsOf(record));
    writeSignal(view, at + 50, signal);
    writeEvidence(view, EVIDENCE_AT + at, factorEvidenceOf(record));
    view.setBigUint64(SERIES_AT + at, BigInt(`0x${record.series ?? "0"}`));
  },
  read(view, at) {
    const price = { value: view.getFloat64(at + 32), at: view.getFloat64(at + 40) };
    return {
      instrument,
      at: view.getFloat64(at),
      status: SNAPSHOT_STATUSES[view.getUint8(at + 48)] as SignalRecord["status"],
      score: numberOrNull(view.getFloat64(at + 8)),
      confidence: view.getFloat64(at + 16),
      coverage: view.getFloat64(at + 24),
      signal: readSignal(view, at + 50),
      missingFactors: MISSING[view.getUint8(at + 49)] as SignalRecord["missingFactors"],
      price: Number.isNaN(price.at) ? null : price,
      // Getters, since few readers need these members.
      get evidence() {
        return readEvidence(view, EVIDENCE_AT + at);
      },
      get series() {
        return readSeries(view, SERIES_AT + at);
      },
    };
  },
});

/** Reads only the instant of a record. */
export const readRecordInstant = (view: DataView, at: number): number => view.getFloat64(at);

/** Creates a packed list for the signals of an instrument, oldest first. */
export const createSignalRecords = (
  instrument: Instrument,
): PackedList<Snapshot | SignalRecord, SignalRecord> => createPackedList(packedSignals(instrument));
