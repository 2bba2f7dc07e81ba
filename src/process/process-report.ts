import type { LoggedError } from "../telemetry/log.ts";

/** State of a running process. */
export interface ProcessReport {
  /** What the process runs, with its build (`programVersion`). */
  readonly version: string;
  /** Start time, Unix milliseconds. */
  readonly startedAt: number;
  readonly market: {
    readonly mode: string;
    /** Instant up to which the market is known and scored, Unix milliseconds. */
    readonly asOf: number;
    /** How far the served data are behind the market's clock, in milliseconds. */
    readonly behindMs: number;
    readonly instruments: number;
  };
  /** Whether this process is the leader, which runs the jobs that must not run twice. */
  readonly isLeader: boolean;
  readonly openStreams: number;
  /**
   * Number of refusals since the start, by the limit exceeded; limits without refusals are absent.
   */
  readonly denials: Readonly<Record<string, number>>;
  /**
   * Numbers of unclaimed agents that were evicted or refused since the start for lack of capacity.
   */
  readonly unclaimedCapacity: {
    /** Number of agents removed to make room for others. */
    readonly evicted: number;
    /** Number of registrations refused. */
    readonly refused: number;
  };
  /** Number of requests shed since the start because of overload. */
  readonly shed: number;
  /** The latest logged errors, oldest first. */
  readonly lastErrors: readonly LoggedError[];
}

/** Reads the state of a process. */
export type ReadProcessReport = () => ProcessReport;
