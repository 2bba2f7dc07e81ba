import type { QuotaName } from "../limits/quotas.ts";
import type { LoggedError } from "./log.ts";

/** State of a running process. */
export interface ProcessReport {
  readonly version: string;
  /** Start time, Unix milliseconds. */
  readonly startedAt: number;
  readonly market: {
    readonly mode: string;
    /** Instant up to which the market is known and scored, Unix milliseconds. */
    readonly asOf: number;
    /** Lag of the served data behind the market, in milliseconds. */
    readonly behindMs: number;
    readonly instruments: number;
  };
  /** Whether this process is the leader, which runs the jobs that only one process may run. */
  readonly isLeader: boolean;
  readonly openStreams: number;
  /** Refusals since the start, by the limit exceeded; limits without refusals are absent. */
  readonly denials: Readonly<Partial<Record<QuotaName, number>>>;
  /** Unclaimed agents that were evicted or rejected for lack of capacity since the start. */
  readonly unclaimedCapacity: {
    /** Agents that were removed to make room for others. */
    readonly evicted: number;
    /** Registrations that were refused. */
    readonly refused: number;
  };
  /** Requests shed since the start because of overload. */
  readonly shed: number;
  /** The latest logged errors, oldest first. */
  readonly lastErrors: readonly LoggedError[];
}

/** Reads the state of a process. */
export type ReadReport = () => ProcessReport;
