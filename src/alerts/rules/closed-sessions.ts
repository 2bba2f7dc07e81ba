import { quarterlyFilings } from "../../factors/next-report.ts";
import { reportWindowsOf } from "../../factors/report-windows.ts";
import { createVolatilityReader } from "../../factors/volatility.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { Market } from "../../market/market.ts";
import type { InstrumentRecords } from "../../market/records.ts";
import { riskTableOf } from "../../risk/measured-table.ts";
import { type RangeSession, watchedHorizon } from "../../risk/range-events.ts";
import { type ReportSession, reportReadingAt } from "../../score/report-events.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import type { MemoryArchive } from "../../score/snapshot-archive.ts";
import type { AlertKind } from "../alert.ts";
import type { ConditionInput } from "./condition.ts";

/** Dependencies for reading closed sessions. */
export interface ClosedSessionsOptions {
  readonly snapshots: MemoryArchive;
  readonly market: Market;
  /**
   * Instant up to which sessions have been scored, in milliseconds since the epoch; never
   * decreases.
   */
  readonly knownUntil: () => number;
}

/** The instruments whose sessions closed at the same instant. */
interface ClosedSession {
  /** Close of the session, in milliseconds since the epoch. */
  readonly at: number;
  /** Final snapshots of the session, by symbol. */
  readonly snapshots: ReadonlyMap<string, Snapshot>;
}

/** Reads closed sessions, in the order in which they closed, from the snapshots in memory. */
export class ClosedSessions {
  readonly #source: ClosedSessionsOptions;
  readonly #readVolatility = createVolatilityReader();
  /**
   * Cache of the last session label of each asset class. All instruments of a session share the
   * label, and computing it needs the calendar.
   */
  readonly #labels = new Map<AssetClass, { readonly at: number; readonly label: string }>();
  #records: ReadonlyMap<string, InstrumentRecords> = new Map();
  /** The value of `knownUntil` when `#records` was read. */
  #recordsUntil: number | undefined;
  /**
   * Cache of session counts. `counts` maps an instant, in milliseconds since the epoch, to the
   * number of sessions from the close `at` to that instant. Companies that report on the same day
   * share an entry.
   */
  #sessionsUntil: { readonly at: number; readonly counts: Map<number, number> } | undefined;

  constructor(source: ClosedSessionsOptions) {
    this.#source = source;
  }

  /**
   * The first session that closed after an instant; `undefined` if there is none. Sessions whose
   * factors are no longer kept are skipped.
   */
  next(after: number): ClosedSession | undefined {
    const { snapshots } = this.#source;
    const first = snapshots
      .allNewest()
      .flatMap(
        ({ instrument }) => snapshots.closedAfter(instrument.symbol, after).find(hasFactors) ?? [],
      );
    const at = first.reduce(
      (min, snapshot) => Math.min(min, snapshot.at),
      Number.POSITIVE_INFINITY,
    );
    const closing = first.filter((snapshot) => snapshot.at === at);
    if (closing.length === 0) return undefined;
    return { at, snapshots: new Map(closing.map((one) => [one.instrument.symbol, one])) };
  }

  /** The input for evaluating a condition of one kind on a final snapshot. */
  inputOf(snapshot: Snapshot, kind: AlertKind): ConditionInput {
    const { at, instrument } = snapshot;
    const bars = kind === "volatility" ? this.#recordsOf(instrument.symbol)?.bars : undefined;
    return {
      snapshot,
      // In a market that never closes, a session ends at the first instant of the next session, so
      // the label is taken one millisecond earlier.
      session: this.#labelOf(at - 1, instrument.assetClass),
      dayMs: this.#source.market.dayMs,
      reading: bars && this.#readVolatility(bars, at),
      reports: kind === "report" ? this.#reportsOf(snapshot) : undefined,
      range: kind === "range" ? this.#rangeOf(snapshot) : undefined,
    };
  }

  /**
   * The final snapshot of the instrument's previous session; `undefined` if its factors are no
   * longer kept, or another method scored it.
   */
  before({ instrument, at }: Snapshot): Snapshot | undefined {
    const past = this.#source.snapshots.lastAt(instrument.symbol, at - 1);
    if (past === undefined || past.methodVersion !== undefined) return undefined;
    return hasFactors(past) ? past : undefined;
  }

  #recordsOf(symbol: string): InstrumentRecords | undefined {
    const { market, knownUntil } = this.#source;
    const until = knownUntil();
    if (until !== this.#recordsUntil) {
      const list = market.recordsUntil(until);
      this.#records = new Map(list.map((one) => [one.instrument.symbol, one]));
      this.#recordsUntil = until;
    }
    return this.#records.get(symbol);
  }

  /**
   * The input for a range condition; `undefined` for asset classes whose ranges are not published.
   */
  #rangeOf({ at, instrument: { symbol, assetClass } }: Snapshot): RangeSession | undefined {
    const table = watchedHorizon(riskTableOf(this.#source.market.source), assetClass);
    const records = table && this.#recordsOf(symbol);
    return records && { records, assetClass, at, table };
  }

  /** The input for a report condition; `undefined` for companies without a feed of filings. */
  #reportsOf({ at, instrument }: Snapshot): ReportSession | undefined {
    const { dayMs, source } = this.#source.market;
    const { fundamentals } = this.#recordsOf(instrument.symbol) ?? {};
    if (instrument.assetClass !== "stock" || fundamentals === undefined) return undefined;
    const filings = quarterlyFilings(fundamentals, dayMs);
    return {
      reading: reportReadingAt(filings, at, reportWindowsOf(source), dayMs),
      at,
      dayMs,
      sessionsUntil: (instant) => this.#countSessions(at, instant),
    };
  }

  /** Number of stock sessions that close in the interval (at, instant]. */
  #countSessions(at: number, instant: number): number {
    const { market } = this.#source;
    if (this.#sessionsUntil?.at !== at) this.#sessionsUntil = { at, counts: new Map() };
    const { counts } = this.#sessionsUntil;
    const days = Math.max(0, Math.round((instant - at) / market.dayMs));
    const count = counts.get(instant) ?? market.barsDue?.(at, instant, "stock").length ?? days;
    counts.set(instant, count);
    return count;
  }

  #labelOf(at: number, assetClass: AssetClass): string {
    const last = this.#labels.get(assetClass);
    if (last?.at === at) return last.label;
    const label = this.#source.market.sessionAt(at, assetClass);
    this.#labels.set(assetClass, { at, label });
    return label;
  }
}

const hasFactors = (past: object): past is Snapshot => "factors" in past;
