import { hash } from "node:crypto";
import { type ScheduleTimer, scheduleTimer } from "../lib/loop.ts";
import type { Counters } from "../store/port/counters.ts";
import { CounterClient, type CounterRequest } from "./counter-client.ts";
import { createLimits } from "./limits.ts";
import type { LimitsOptions } from "./memory-limits.ts";
import {
  createPerQuota,
  monotonicNow,
  type QuotaRule,
  remainingAfterCount,
  remainingWithoutCount,
} from "./quota-state.ts";
import type { Limits, QuotaState } from "./quotas.ts";
import { boundedKey, createQuotaWindows, type QuotaWindow, type QuotaWindows } from "./windows.ts";

/** Pattern of the keys that are stored in the database verbatim; other keys are hashed. */
const PLAIN = /^[ -~]*$/;

/** Dependencies of `createSharedLimits`. */
export interface SharedLimitsOptions extends LimitsOptions {
  readonly counters: Pick<Counters, "add">;
  readonly schedule?: ScheduleTimer;
  /** Maximum time that a caller waits for the database, in milliseconds. */
  readonly timeoutMs?: number;
  /** Called when the database failed; the client retries. */
  readonly onError: (error: unknown) => void;
}

/** Limits that several processes share. */
export interface SharedLimits extends Limits {
  /** Sends pending counts to the database. */
  sync(): Promise<void>;
}

/** A window with the counts of this process and the last known count in the database. */
interface SharedWindow extends QuotaWindow {
  /** Name of the window in the database. */
  readonly name: string;
  /** Number of points in the database, according to its last response. */
  total: number;
  /** Number of points counted in this process that `total` may not include yet. */
  unconfirmed: number;
}

/** Counts the actions of each key against one quota. */
interface Counter {
  count(key: string): QuotaState | Promise<QuotaState>;
  peek(key: string): QuotaState | Promise<QuotaState>;
}

/**
 * Creates limits in a database that several processes share.
 *
 * Each action is counted in the database, so that all processes together allow exactly the quota; a
 * key without remaining points is rejected without a query. While the database does not respond,
 * each process continues from the last response, and then allows at most the quota on its own.
 */
export function createSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { overrides = {}, numbers = {}, now = monotonicNow, schedule = scheduleTimer } = options;
  const { counters, timeoutMs, onError } = options;
  const client = new CounterClient({ counters, now, schedule, timeoutMs, onError });
  const counterOf = createPerQuota(overrides, (rule) => exactCounter(rule, now, client));
  const classes = createLimits({ overrides: numbers, now, shared: options });
  return {
    admit: classes.admit,
    check: classes.check,
    count: async (quota, key) => counterOf(quota).count(boundedKey(key)),
    peek: async (quota, key) => counterOf(quota).peek(boundedKey(key)),
    sync: classes.sync,
  };
}

function windowsOf({ quota, policy }: QuotaRule): QuotaWindows<SharedWindow> {
  const windowMs = policy.windowSeconds * 1000;
  return createQuotaWindows((key, at) => ({
    name: `${quota} ${PLAIN.test(key) ? key : hash("sha256", key, "base64url")}`,
    endsAt: at + windowMs,
    total: 0,
    unconfirmed: 0,
  }));
}

const used = ({ total, unconfirmed }: SharedWindow): number => total + unconfirmed;

/**
 * Creates an addition whose result updates the window. The result may end the window earlier but
 * never later. If the database has lost points, they are not counted again.
 */
function requestFor(window: SharedWindow, points: number, windowMs: number): CounterRequest {
  return {
    name: window.name,
    points,
    windowMs,
    onCounted(answer, sentAt) {
      window.total = answer.points;
      window.unconfirmed -= points;
      window.endsAt = Math.min(window.endsAt, sentAt + answer.leftMs);
    },
  };
}

/** Creates a counter that counts in the database on each call. */
function exactCounter(rule: QuotaRule, now: () => number, client: CounterClient): Counter {
  const { points: limit, windowSeconds } = rule.policy;
  const windows = windowsOf(rule);
  const windowMs = windowSeconds * 1000;
  const send = async (window: SharedWindow, points: number) => {
    window.unconfirmed += points;
    const answer = await client.add(requestFor(window, points, windowMs));
    return answer === undefined
      ? { used: used(window), leftMs: Math.max(window.endsAt - now(), 0) }
      : { used: answer.points, leftMs: answer.leftMs };
  };
  const add = (key: string, points: 0 | 1) => {
    const at = now();
    const window = windows.getOrOpen(key, at);
    if (used(window) < limit) return send(window, points);
    windows.markExhausted(key);
    return { used: used(window) + points, leftMs: window.endsAt - at };
  };
  return {
    count: async (key) => remainingAfterCount(rule, await add(key, 1)),
    peek: async (key) => remainingWithoutCount(rule, await add(key, 0)),
  };
}
