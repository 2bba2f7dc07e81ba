import type { LiveClaimTerms } from "../grading/live-claim.ts";
import type { TrackRecordTerms } from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import { collection } from "../store/port/records.ts";
import type { DumpRow } from "../store/port/store.ts";
import type { StoredTree } from "../tree/tree-store.ts";

/** State of the log; replaced with every append, so that two leaders cannot fork the log. */
export interface LogState extends StoredTree {
  /** First line of the log's checkpoints; does not change with BASE_URL. */
  readonly origin: string;
  /** When the log was created, Unix milliseconds. */
  readonly createdAt: number;
  /** The last method leaf; `null` if a method leaf must be logged before the next run. */
  readonly method: {
    readonly index: number;
    /** SHA-256 of the registered rules. */
    readonly sha256: string;
  } | null;
  /** How the log is graded, as its first method leaf registers it. */
  readonly record: TrackRecordTerms;
  /** By method hash: the claim about the method, as registered; absent before the first claim. */
  readonly claims?: Readonly<Record<string, RegisteredClaim>>;
  /** By asset class: SHA-256 of the symbols logged last, and the index of their leaf. */
  readonly universes: Readonly<Partial<Record<AssetClass, UniverseMark>>>;
  /** By asset class: close of the last complete run, Unix milliseconds. */
  readonly recordedUntil: Readonly<Partial<Record<AssetClass, number>>>;
  /** The run whose results are being appended; `null` if there is no such run. */
  readonly open: UnfinishedRun | null;
  /** Text of the last checkpoint of the log that the present log replaces. */
  readonly replaces: string | null;
  /**
   * Origins of the logs that this store contained before; the last checkpoint signed by a process
   * may belong to one of these logs.
   */
  readonly former?: readonly string[];
  /** Close after which the method and the universes were last logged again, Unix milliseconds. */
  readonly repeatedAt: number;
  /** Size of the last checkpoint whose cosignatures were logged; absent if none were. */
  readonly anchored?: number;
  /** Whether the log was restored from a backup; absent if it was not. */
  readonly isRestored?: true;
  /** When the log began, Unix milliseconds on the market's clock. */
  readonly beganAt: number;
  /** Runs whose outcomes are incomplete or can still be corrected, oldest first. */
  readonly unsettled: readonly UnsettledRun[];
  /** The settlement whose outcomes are being appended; `null` if there is no such settlement. */
  readonly settling: OpenSettlement | null;
}

/** A claim, and the index of the leaf that registered it first. */
export interface RegisteredClaim {
  readonly index: number;
  readonly terms: LiveClaimTerms;
}

/** A complete run whose outcomes are incomplete or can still be corrected. */
export interface UnsettledRun {
  /** Index of the leaf of the run. */
  readonly index: number;
  readonly assetClass: AssetClass;
  /** Close of the session, Unix milliseconds. */
  readonly close: number;
  /**
   * When a checkpoint first covered the run, Unix milliseconds on the market's clock; `null` if
   * none has.
   */
  readonly coveredAt: number | null;
  /**
   * Number of completed settlement steps: first a settlement over each horizon, then a check for
   * corrections over each horizon.
   */
  readonly settled: number;
  /** Indexes of the settlement leaves of the run; `null` where it is not known. */
  readonly settlements: readonly (number | null)[];
  /** Index of the method leaf in force for the run; `null` if the log no longer stores it. */
  readonly method: number | null;
}

/** A settlement whose outcomes are not all logged. */
export interface OpenSettlement {
  /** Index of the leaf of the settlement. */
  readonly index: number;
  /** Index of the leaf of the run. */
  readonly run: number;
}

/** Index and content hash of the universe that was logged last. */
interface UniverseMark {
  readonly sha256: string;
  readonly index: number;
}

/** A run whose results are not all logged. */
export interface UnfinishedRun {
  readonly index: number;
  readonly assetClass: AssetClass;
  /** Close of the session of the run, Unix milliseconds. */
  readonly close: number;
}

/**
 * What the log contains between two steps of its writer, each of which is durable as a whole. The
 * state alone tells it, so a process that goes on where another one ended knows what that one knew.
 */
export type LogPhase =
  /**
   * A run has begun: its manifest and the first of its results are logged, and no checkpoint covers
   * them. The run before is covered. Next are the other results.
   */
  | { readonly is: "open run"; readonly run: UnfinishedRun }
  /**
   * Every result of the last run is logged, and no checkpoint covers the run, so that it does not
   * count yet. Next is a checkpoint.
   */
  | { readonly is: "whole run" }
  /**
   * A settlement has begun: its manifest and the first of its outcomes are logged. Its run and all
   * other runs are covered. Next are the other outcomes.
   */
  | { readonly is: "open settlement"; readonly settlement: OpenSettlement }
  /**
   * Every run is covered; only whole settlements may follow the last checkpoint. Next is a
   * settlement that is due, then a checkpoint that covers the settlements, then the next run.
   */
  | { readonly is: "covered" };

/** The phase of a log. */
export function phaseOf({ open, settling, unsettled }: LogState): LogPhase {
  if (open !== null) return { is: "open run", run: open };
  if (unsettled.some(({ coveredAt }) => coveredAt === null)) return { is: "whole run" };
  if (settling !== null) return { is: "open settlement", settlement: settling };
  return { is: "covered" };
}

/** Collection with a single record, the state of the log. */
export const logStates = collection<LogState>("log");

/** Marks the log as restored from a backup, in the row of its state; other rows are unchanged. */
export function markRestored(row: DumpRow): DumpRow {
  if (row.table !== "record" || row.collection !== logStates.name) return row;
  return { ...row, text: JSON.stringify({ ...JSON.parse(row.text), isRestored: true }) };
}
