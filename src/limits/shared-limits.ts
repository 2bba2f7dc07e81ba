import { hash } from "node:crypto";
import { type Schedule, schedule as scheduleTimer } from "../lib/loop.ts";
import type { Counters } from "../store/port/counters.ts";
import type { Limits, QuotaName, Remaining } from "./limits.ts";
import type { LimitsOptions } from "./memory-limits.ts";
import { afterCount, asItIs, forEachQuota, type Rule, steadyNow } from "./remaining.ts";
import { createTeller, type Question, type Teller, type TellerOptions } from "./teller.ts";
import { createWindows, shortened, type Window, type Windows } from "./windows.ts";

/** What is counted so often that no call may cost a query. */
const SETTLED: ReadonlySet<QuotaName> = new Set(["calls", "calls-anonymous", "visits"]);

/** Pause between two settlements, in milliseconds. */
const SETTLE_EVERY_MS = 1_000;

/** Keys that the database can hold as they are. */
const PLAIN = /^[ -~]*$/;

/** What limits of several processes are made from. */
export interface SharedLimitsOptions
  extends LimitsOptions,
    Pick<TellerOptions, "patienceMs" | "onError"> {
  readonly counters: Pick<Counters, "add">;
  readonly schedule?: Schedule;
}

/** Limits that several processes keep together. */
export interface SharedLimits extends Limits {
  /** Tells the database now what it was not told yet. */
  settle(): Promise<void>;
}

/** A window as this process knows it. */
interface Known extends Window {
  /** Name in the database. */
  readonly name: string;
  /** What the database counted, as it last said. */
  told: number;
  /** What was counted here and is not in `told`, as far as is known. */
  since: number;
  /** What of that is still to be told to the database. */
  untold: number;
}

/** What counts for one quota. */
interface Counter {
  count(key: string): Remaining | Promise<Remaining>;
  look(key: string): Remaining | Promise<Remaining>;
}

/**
 * Limits over a database that several processes share.
 *
 * Each count is made there, so that all processes together allow exactly what the quota says; a key that
 * is known to have no points left is refused without asking. While the database is silent each process
 * goes on from what it last heard: then each of them allows at most the quota.
 *
 * `calls`, `calls-anonymous` and `visits` are counted here and settled with the database, at the first
 * call in a window and then once a second. So a caller that comes to several processes at once is
 * allowed at most what it asks of all but one of them in a second beyond the quota.
 */
export function createSharedLimits(options: SharedLimitsOptions): SharedLimits {
  const { overrides = {}, now = steadyNow, schedule = scheduleTimer } = options;
  const teller = createTeller({ ...options, now, schedule });
  const settler = createSettler(teller, { now, schedule });
  const counterOf = forEachQuota(overrides, (rule) =>
    SETTLED.has(rule.quota)
      ? settledCounter(rule, { now, tell: settler.note })
      : exactCounter(rule, { now, teller }),
  );
  return {
    count: async (quota, key) => counterOf(quota).count(shortened(key)),
    look: async (quota, key) => counterOf(quota).look(shortened(key)),
    settle: settler.settle,
  };
}

function windowsOf({ quota, policy }: Rule): Windows<Known> {
  const endsAfter = policy.windowSeconds * 1000;
  return createWindows((key, at) => ({
    name: `${quota} ${PLAIN.test(key) ? key : hash("sha256", key, "base64url")}`,
    endsAt: at + endsAfter,
    ...{ told: 0, since: 0, untold: 0 },
  }));
}

const used = ({ told, since }: Known): number => told + since;

/** What a database is told of a window, which learns from the answer. It never ends later by that: what
 *  was counted in it and went lost is forgotten with it. */
function addition(window: Known, points: number, windowMs: number): Question {
  return {
    ...{ name: window.name, points, windowMs },
    learn(answer, askedAt) {
      window.told = answer.points;
      window.since -= points;
      window.endsAt = Math.min(window.endsAt, askedAt + answer.leftMs);
    },
  };
}

interface Exactly {
  readonly now: () => number;
  readonly teller: Teller;
}

/** Counts each time in the database. */
function exactCounter(rule: Rule, { now, teller }: Exactly): Counter {
  const { points: most, windowSeconds } = rule.policy;
  const windows = windowsOf(rule);
  const windowMs = windowSeconds * 1000;
  const ask = async (window: Known, points: number) => {
    window.since += points;
    const answer = await teller.ask(addition(window, points, windowMs));
    return answer === undefined
      ? { used: used(window), leftMs: Math.max(window.endsAt - now(), 0) }
      : { used: answer.points, leftMs: answer.leftMs };
  };
  const reached = (key: string, points: 0 | 1) => {
    const at = now();
    const window = windows.of(key, at);
    if (used(window) < most) return ask(window, points);
    windows.spend(key);
    return { used: used(window) + points, leftMs: window.endsAt - at };
  };
  return {
    count: async (key) => afterCount(rule, await reached(key, 1)),
    look: async (key) => asItIs(rule, await reached(key, 0)),
  };
}

interface Locally {
  readonly now: () => number;
  /** Has the database told of what was counted. */
  readonly tell: (window: Known, windowMs: number) => void;
}

/** Counts here. */
function settledCounter(rule: Rule, { now, tell }: Locally): Counter {
  const { points: most, windowSeconds } = rule.policy;
  const windows = windowsOf(rule);
  const windowMs = windowSeconds * 1000;
  return {
    count(key) {
      const at = now();
      const window = windows.of(key, at);
      const leftMs = window.endsAt - at;
      if (used(window) >= most) {
        windows.spend(key);
        return afterCount(rule, { used: used(window) + 1, leftMs });
      }
      window.since += 1;
      window.untold += 1;
      if (window.untold === 1) tell(window, windowMs);
      return afterCount(rule, { used: used(window), leftMs });
    },
    look(key) {
      const at = now();
      const window = windows.of(key, at);
      return asItIs(rule, { used: used(window), leftMs: window.endsAt - at });
    },
  };
}

/** What tells the database later. */
interface Settler {
  /** Has it told of a window: at once of one that it knows nothing of, else at the next settlement. */
  note(window: Known, windowMs: number): void;
  /** Tells it now. */
  settle(): Promise<void>;
}

function createSettler(
  teller: Teller,
  { now, schedule }: { readonly now: () => number; readonly schedule: Schedule },
): Settler {
  const owed = new Map<Known, number>();
  let cancel: (() => void) | undefined;
  const send = (window: Known, windowMs: number): Promise<unknown> => {
    const points = window.untold;
    window.untold = 0;
    return teller.ask(addition(window, points, windowMs));
  };
  const settle = async (): Promise<void> => {
    cancel?.();
    cancel = undefined;
    const open = [...owed].filter(([{ endsAt }]) => endsAt > now());
    owed.clear();
    await Promise.all(open.map(([window, windowMs]) => send(window, windowMs)));
  };
  return {
    note(window, windowMs) {
      if (used(window) === 1) return void send(window, windowMs);
      owed.set(window, windowMs);
      cancel ??= schedule(settle, SETTLE_EVERY_MS);
    },
    settle,
  };
}
