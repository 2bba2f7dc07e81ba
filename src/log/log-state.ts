import { type RecordTerms, recordTerms } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import { collection } from "../store/port/records.ts";
import type { StoredTree } from "./tree-store.ts";

/** State of the log; replaced with every append, so that two leaders cannot fork the log. */
export interface LogState extends StoredTree {
  /** First line of its checkpoints; does not change with BASE_URL. */
  readonly origin: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** The last method leaf; `null` if one must be logged before the next run. */
  readonly method: MethodMark | null;
  /** How the log is graded, as its first method leaf registers it. */
  readonly record: RecordTerms;
  /** By asset class: SHA-256 of the symbols that were logged last, and the index of their leaf. */
  readonly universes: Readonly<Partial<Record<AssetClass, UniverseMark>>>;
  /** By asset class: close of the last complete run, Unix milliseconds. */
  readonly recordedUntil: Readonly<Partial<Record<AssetClass, number>>>;
  /** The run whose results are being appended. */
  readonly open: OpenRun | null;
  /** Text of the last checkpoint of the log that this one replaces. */
  readonly replaces: string | null;
  /** Origins of the logs that this store had before; a process may have signed one of them last. */
  readonly former?: readonly string[];
  /** Close after which method and universes were last repeated in the log, Unix milliseconds. */
  readonly repeatedAt: number;
  /** Size of the last checkpoint whose cosignatures were logged; absent if none were. */
  readonly anchored?: number;
  /** When the log began, Unix milliseconds on the market's clock. */
  readonly beganAt: number;
  /** Runs whose outcomes are incomplete or can still be corrected, oldest first. */
  readonly unsettled: readonly UnsettledRun[];
  /** The settlement whose outcomes are being appended. */
  readonly settling: OpenSettlement | null;
}

/** A method leaf. */
interface MethodMark {
  readonly index: number;
  /** Hash of what it registers. */
  readonly sha256: string;
}

/** A complete run whose outcomes are incomplete or can still be corrected. */
export interface UnsettledRun {
  /** Index of the leaf of the run. */
  readonly index: number;
  readonly assetClass: AssetClass;
  /** Close of the session, Unix milliseconds. */
  readonly close: number;
  /** When a checkpoint first covered it, Unix milliseconds on the market's clock; `null` if none
   *  has. */
  readonly coveredAt: number | null;
  /** Number of settlement steps done: first one for each horizon, then one more for each, which
   *  checks for corrections. */
  readonly settled: number;
  /** Indexes of the leaves of its settlements; `null` where an earlier version did not note it. */
  readonly settlements: readonly (number | null)[];
  /** Index of the method leaf that was in force for the run; `null` where an earlier version did not
   *  note it. */
  readonly method: number | null;
}

/** A settlement that is not complete. */
export interface OpenSettlement {
  /** Index of the leaf of the settlement. */
  readonly index: number;
  /** Index of the leaf of the run. */
  readonly run: number;
}

/** The universe that was logged last. */
interface UniverseMark {
  readonly sha256: string;
  readonly index: number;
}

/** A run that is not complete. */
export interface OpenRun {
  readonly index: number;
  readonly assetClass: AssetClass;
  /** Close of its session, Unix milliseconds. */
  readonly close: number;
}

/** The state as earlier versions wrote it, before runs named their method. */
interface EarlierState
  extends Omit<LogState, "beganAt" | "method" | "record" | "settling" | "unsettled"> {
  readonly record: undefined;
  readonly beganAt?: number;
  readonly settling?: OpenSettlement | null;
  readonly unsettled?: readonly EarlierRun[];
}

type EarlierRun = Omit<UnsettledRun, "method" | "settlements"> &
  Partial<Pick<UnsettledRun, "settlements">>;

/** The state of the log, by the one key of the store. */
export const states = collection<LogState | EarlierState>("log");

/** What an earlier version did not note is `null`, and is found in the leaves. */
export function withMethods(value: LogState | EarlierState): LogState {
  if (value.record !== undefined) return value;
  const { createdAt, beganAt = createdAt, settling = null, unsettled = [] } = value;
  return {
    ...value,
    beganAt,
    method: null,
    record: recordTerms(beganAt),
    settling,
    unsettled: unsettled.map((run) => {
      const { settled, settlements = Array.from({ length: settled }, () => null) } = run;
      return { ...run, settlements, method: null };
    }),
  };
}
