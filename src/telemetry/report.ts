import type { QuotaName } from "../limits/limits.ts";
import type { LoggedError } from "./log.ts";

/** How a running process is doing. */
export interface ProcessReport {
  readonly version: string;
  /** When it began to serve, Unix milliseconds. */
  readonly startedAt: number;
  readonly market: {
    readonly mode: string;
    /** Instant up to which the market is known and scored, Unix milliseconds. */
    readonly asOf: number;
    /** How far what is served lies behind the market, in milliseconds. */
    readonly behindMs: number;
    readonly instruments: number;
  };
  /** Whether it does what only one process may do. */
  readonly isLeader: boolean;
  readonly openStreams: number;
  /** Refusals since the start by the limit that was exceeded; limits without any are absent. */
  readonly denials: Readonly<Partial<Record<QuotaName, number>>>;
  /** Agents that nobody has claimed, for want of capacity since the start. */
  readonly agentRoom: {
    /** Agents that were removed to make room for others. */
    readonly evicted: number;
    /** Registrations that were refused. */
    readonly refused: number;
  };
  /** Requests turned away since the start because there were too many at once. */
  readonly shed: number;
  /** The newest errors of the log, the oldest of them first. */
  readonly lastErrors: readonly LoggedError[];
}

/** Asks a process how it is doing. */
export type Report = () => ProcessReport;
