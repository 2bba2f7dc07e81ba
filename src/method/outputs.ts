import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { createVolatilityTracker } from "../factors/volatility.ts";
import type { Market } from "../market/market.ts";
import { FEEDS } from "../market/records.ts";
import { CANDIDATE, CANDIDATE_RULES } from "../score/candidate.ts";
import { METHOD_CONSTANTS } from "../score/method-constants.ts";
import { ScoringEngine } from "../score/scoring-engine.ts";
import { detectSignalShift, detectVolatilityAlert } from "../score/shift-and-volatility-events.ts";
import { METHOD_RELEASE, type Snapshot } from "../score/snapshot.ts";
import { closeOf, DAYS, FEW_STOCKS_MARKET, METHOD_MARKET, SCORED_FROM } from "./invented-market.ts";

/**
 * Significant digits of the hashed outputs, so that rounding errors in the last bits change
 * nothing.
 */
const DIGITS = 12;

/** Hours after a close at which interim scores are computed. */
const INTERIM_HOURS = [1.5, 9, 19];

/** Last scored day of the market with few stocks. */
const LAST_DAY_OF_FEW = SCORED_FROM + 15;

/** All outputs of the method for the fixture. */
export interface MethodOutputs {
  /** Snapshots at closes, in the order of sessions. */
  readonly closed: readonly Snapshot[];
  /** Snapshots between two closes. */
  readonly interim: readonly Snapshot[];
  /** Snapshots of the market with few stocks, many funds and more coins, at closes and between them. */
  readonly fewStocks: readonly Snapshot[];
  readonly events: readonly unknown[];
  readonly volatility: readonly unknown[];
}

/**
 * Scores the fixture with the current code.
 *
 * @throws {Error} If a feed has no records in the fixture, since the hash would then say nothing
 * about what is made of it.
 */
export function methodOutputs(): MethodOutputs {
  const records = METHOD_MARKET.recordsUntil(closeOf(DAYS));
  for (const feed of FEEDS) {
    if (records.every((one) => one[feed] === undefined)) {
      throw new Error(`The invented market of the method has no ${feed}: add some to it.`);
    }
  }
  const { closed, interim } = scored(METHOD_MARKET, DAYS);
  const few = scored(FEW_STOCKS_MARKET, LAST_DAY_OF_FEW);
  return { closed, interim, fewStocks: [...few.closed, ...few.interim], ...eventsOf(closed) };
}

/** Scores a market up to the close of a day, and between some of its closes. */
function scored(market: Market, until: number): Pick<MethodOutputs, "closed" | "interim"> {
  const closed: Snapshot[] = [];
  const newest = new Map<string, Snapshot>();
  const engine = new ScoringEngine(market, {
    clear: () => newest.clear(),
    addClosed: (snapshot) => void closed.push(snapshot),
    setNewest: (snapshot) => void newest.set(snapshot.instrument.symbol, snapshot),
  });
  const interim: Snapshot[] = [];
  for (let day = SCORED_FROM; day <= until; day++) {
    engine.refresh(closeOf(day));
    if (day % 10 !== 0) continue;
    for (const hours of INTERIM_HOURS) {
      newest.clear();
      engine.refresh(closeOf(day) + hours * 3_600_000);
      interim.push(...newest.values());
    }
  }
  return { closed, interim };
}

function eventsOf(closed: readonly Snapshot[]) {
  const events: unknown[] = [];
  const volatility: unknown[] = [];
  const bySymbol = Map.groupBy(closed, ({ instrument }) => instrument.symbol);
  for (const { instrument, bars } of METHOD_MARKET.recordsUntil(closeOf(DAYS))) {
    const follower = createVolatilityTracker();
    const readings = new Map([...bars].map((bar) => [bar.availableAt, follower.add(bar)]));
    let shift: ReturnType<typeof detectSignalShift>["state"] | undefined;
    let alert: ReturnType<typeof detectVolatilityAlert>["state"] | undefined;
    for (const snapshot of bySymbol.get(instrument.symbol) ?? []) {
      const session = METHOD_MARKET.sessionAt(snapshot.at, instrument.assetClass);
      const sighting = { snapshot, session, dayMs: METHOD_MARKET.dayMs };
      const shifted = detectSignalShift(shift, sighting);
      shift = shifted.state;
      if (shifted.event) events.push({ symbol: instrument.symbol, ...shifted.event });
      const reading = readings.get(snapshot.at);
      if (reading === undefined) continue;
      volatility.push(reading);
      const alerted = detectVolatilityAlert(alert, { ...sighting, reading });
      alert = alerted.state;
      if (alerted.event) events.push({ symbol: instrument.symbol, ...alerted.event });
    }
  }
  return { events, volatility };
}

/**
 * Copies a value for hashing: numbers have twelve significant digits, and maps and lazy members are
 * written out. It omits `series`, which describes the records, not the method.
 */
function plain(value: unknown): unknown {
  if (typeof value === "number") {
    return Number.isFinite(value) ? Number(value.toPrecision(DIGITS)) : String(value);
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Map) return plain(Object.fromEntries(value));
  const read = "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
  const members = Object.entries(read as object).filter(
    ([name, member]) => member !== undefined && name !== "series",
  );
  return Object.fromEntries(members.map(([name, member]) => [name, plain(member)]));
}

const sha256 = (value: unknown): string =>
  createHash("sha256")
    .update(canonicalize(value) as string)
    .digest("hex");

/** Identity of the method, as pinned in `method.lock.json`. */
export interface MethodLock {
  /** Version of the method for human readers. */
  readonly version: string;
  /** SHA-256 of the canonical JSON (RFC 8785) of `constants` and `outputs`. */
  readonly methodHash: string;
  /** SHA-256 of the canonical JSON of every constant of the method. */
  readonly constants: string;
  /** SHA-256 of the method's outputs for the fixture. */
  readonly outputs: string;
}

/** The lock of the method in the current code. */
export function methodLock(outputs: MethodOutputs): MethodLock {
  const { closed, interim, fewStocks, events, volatility } = outputs;
  const all = [...closed, ...interim, ...fewStocks];
  const tables = new Set(all.map((snapshot) => snapshot.tables));
  const digest = createHash("sha256");
  const said = (snapshot: Snapshot) => {
    // The method hash of the candidate is its own; its parts are inputs of the score here.
    const { instrument, tables: _, candidate: __, ...rest } = snapshot;
    return { symbol: instrument.symbol, ...rest };
  };
  for (const one of all) digest.update(sha256(plain(said(one))));
  for (const one of [...tables, ...events, ...volatility]) digest.update(sha256(plain(one)));
  const constants = sha256(plain(METHOD_CONSTANTS));
  const results = digest.digest("hex");
  return {
    version: METHOD_RELEASE,
    methodHash: sha256({ constants, outputs: results }),
    constants,
    outputs: results,
  };
}

/** Identity of the candidate method, as pinned in `candidate.lock.json`. */
export interface CandidateLock {
  /** Registration date, ISO 8601. */
  readonly registered: string;
  /** As in `MethodLock`. */
  readonly methodHash: string;
  readonly constants: string;
  readonly outputs: string;
}

/** The lock of the candidate method in the current code. */
export function candidateLock({ closed }: Pick<MethodOutputs, "closed">): CandidateLock {
  const { name, registered, rule } = CANDIDATE;
  const constants = sha256(plain({ name, registered, rule, rules: CANDIDATE_RULES }));
  const digest = createHash("sha256");
  for (const { instrument, at, candidate } of closed) {
    if (candidate === undefined) continue;
    // What was hashed when the candidate was registered. Its parts and their mean are pinned by the
    // hash of the method in use, whose stocks they score.
    const said = { symbol: instrument.symbol, closed: at, at: candidate.at };
    digest.update(sha256(plain(said)));
  }
  const outputs = digest.digest("hex");
  return { registered, methodHash: sha256({ constants, outputs }), constants, outputs };
}
