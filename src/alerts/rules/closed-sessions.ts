import { createVolatilityReader } from "../../factors/volatility.ts";
import type { AssetClass } from "../../market/instrument.ts";
import type { Market } from "../../market/market.ts";
import type { Bar, RecordList } from "../../market/records.ts";
import type { Snapshot } from "../../score/snapshot.ts";
import type { MemoryArchive } from "../../score/snapshot-archive.ts";
import type { AlertKind } from "../alert.ts";
import type { ClosedSession } from "./condition.ts";

/** What sessions are read from. */
export interface ClosedSessionsOptions {
  readonly snapshots: Pick<MemoryArchive, "closedAfter" | "lastAt" | "allNewest">;
  readonly market: Pick<Market, "dayMs" | "sessionAt" | "recordsUntil">;
  /** Instant up to which sessions have been scored, Unix milliseconds, never falling. */
  readonly knownUntil: () => number;
}

/** A session of some instruments. */
interface Close {
  /** Unix milliseconds. */
  readonly at: number;
  /** Final snapshots by symbol. */
  readonly snapshots: ReadonlyMap<string, Snapshot>;
}

/** The sessions that closed, as watches look at them. */
export interface ClosedSessions {
  /** The first session that closed after an instant. What is so long ago that the factors are not
   *  kept any more is passed over. */
  next(after: number): Close | undefined;
  /** The session of a final snapshot, with what a kind of alert needs to know of it. */
  of(snapshot: Snapshot, kind: AlertKind): ClosedSession;
  /** The final snapshot before one, if there is one whose factors are kept. */
  before(snapshot: Snapshot): Snapshot | undefined;
}

/** Reads sessions from the snapshots in memory. */
export function createClosedSessions(options: ClosedSessionsOptions): ClosedSessions {
  const { snapshots, market } = options;
  const barsOf = createBars(options);
  const labelOf = createLabels(options);
  const readVolatility = createVolatilityReader();
  return {
    next(after) {
      const first = snapshots
        .allNewest()
        .flatMap(
          ({ instrument }) => snapshots.closedAfter(instrument.symbol, after).find(isWhole) ?? [],
        );
      const at = first.reduce(
        (min, snapshot) => Math.min(min, snapshot.at),
        Number.POSITIVE_INFINITY,
      );
      const closing = first.filter((snapshot) => snapshot.at === at);
      if (closing.length === 0) return undefined;
      return { at, snapshots: new Map(closing.map((one) => [one.instrument.symbol, one])) };
    },
    of(snapshot, kind) {
      const { at, instrument } = snapshot;
      const bars = kind === "volatility" ? barsOf(instrument.symbol) : undefined;
      return {
        snapshot,
        // A session of a market that never closes ends at the first instant of the next.
        session: labelOf(at - 1, instrument.assetClass),
        dayMs: market.dayMs,
        reading: bars && readVolatility(bars, at),
      };
    },
    before({ instrument, at }) {
      const past = snapshots.lastAt(instrument.symbol, at - 1);
      return past !== undefined && isWhole(past) ? past : undefined;
    },
  };
}

const isWhole = (past: object): past is Snapshot => "factors" in past;

/** Finds the bars of an instrument. */
function createBars({
  market,
  knownUntil,
}: ClosedSessionsOptions): (symbol: string) => RecordList<Bar> | undefined {
  let until: number | undefined;
  let bySymbol: ReadonlyMap<string, RecordList<Bar>> = new Map();
  return (symbol) => {
    const now = knownUntil();
    if (now !== until) {
      const list = market.recordsUntil(now);
      bySymbol = new Map(list.map(({ instrument, bars }) => [instrument.symbol, bars]));
      until = now;
    }
    return bySymbol.get(symbol);
  };
}

/** A whole session has one label, which may be dear to find. */
function createLabels({ market }: ClosedSessionsOptions): Market["sessionAt"] {
  const known = new Map<AssetClass, { readonly at: number; readonly label: string }>();
  return (at, assetClass) => {
    const before = known.get(assetClass);
    if (before?.at === at) return before.label;
    const label = market.sessionAt(at, assetClass);
    known.set(assetClass, { at, label });
    return label;
  };
}
