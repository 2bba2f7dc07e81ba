import type { Bar } from "../market/records.ts";
import { type EcdfTable, ecdfZ, freezeEcdf } from "./ecdf.ts";
import { type Figure, type Filings, sharesOutstanding } from "./filings.ts";
import { type Input, type Reading, unread } from "./reading.ts";
import { mean } from "./statistics.ts";

/** Yields of the method: trailing earnings and book equity over market value. */
const YIELDS = ["earningsYield", "bookYield"] as const;
type YieldName = (typeof YIELDS)[number];
/** Fewer yields than this and the factor is not formed. */
const MIN_YIELDS = 2;
/** A sector is a peer group of its own from this many instruments on; below, the class is used. */
const MIN_SECTOR_PEERS = 8;
/** Days since the last filing up to which valuation counts in full, and from which not at all. */
const FRESH_FILING_DAYS = 100;
const MAX_FILING_AGE_DAYS = 200;

/** Days after which a share count is missing: it is filed once a year at least. */
const MAX_SHARE_COUNT_AGE_DAYS = 400;

/** What valuation measures on one stock, before it is compared with its peers. */
export interface ValuationMeasurement {
  readonly sector: string | null;
  readonly yields: Readonly<Partial<Record<YieldName, number>>>;
  readonly marketCapUsd: number;
  readonly shares: Figure;
  /** When the price of the market value became known, Unix milliseconds. */
  readonly priceAt: number;
  /** When the newest filing used became known, Unix milliseconds. */
  readonly asOf: number;
}

/** Frozen distributions: each yield by sector (`""` is the whole class), and of their mean z. */
export interface ValuationTables {
  readonly yields: Readonly<Record<YieldName, ReadonlyMap<string, EcdfTable>>>;
  readonly combined?: EcdfTable;
}

const WHOLE_CLASS = "";

/** Tables of a peer group that has not been measured yet. */
export const NO_VALUATION_TABLES: ValuationTables = {
  yields: { earningsYield: new Map(), bookYield: new Map() },
};

/** Filings, bars and instant of one valuation. */
export interface ValuationContext {
  readonly filings: Filings;
  /** Known bars, oldest first. */
  readonly bars: readonly Bar[];
  readonly sector: string | null;
  /** Unix milliseconds. */
  readonly at: number;
  readonly dayMs: number;
}

/**
 * Yields on the price of the newest bar, from figures known then.
 *
 * @returns `undefined` when there is no price, share count or recent figure.
 */
export function measureValuation({
  filings,
  bars,
  sector,
  at,
  dayMs,
}: ValuationContext): ValuationMeasurement | undefined {
  const shares = sharesOutstanding(filings.shareCounts, bars);
  const newestBar = bars.at(-1);
  if (shares === undefined || newestBar === undefined) return undefined;
  if (at - shares.availableAt > MAX_SHARE_COUNT_AGE_DAYS * dayMs) return undefined;

  const marketCapUsd = shares.value * newestBar.close;
  const oldest = at - MAX_FILING_AGE_DAYS * dayMs;
  const recent = [filings.trailingEarnings, filings.equity].map((figure) =>
    figure !== undefined && figure.availableAt >= oldest ? figure : undefined,
  );
  const [earnings, equity] = recent;
  if (earnings === undefined && equity === undefined) return undefined;
  return {
    sector,
    yields: {
      ...(earnings && { earningsYield: earnings.value / marketCapUsd }),
      ...(equity && { bookYield: equity.value / marketCapUsd }),
    },
    marketCapUsd,
    shares,
    priceAt: newestBar.availableAt,
    asOf: Math.max(earnings?.availableAt ?? 0, equity?.availableAt ?? 0),
  };
}

/** Freezes each yield by sector and for the class, then the mean z through those tables. */
export function freezeValuation(group: readonly ValuationMeasurement[]): ValuationTables {
  const yields = {
    earningsYield: freezeYield(group, "earningsYield"),
    bookYield: freezeYield(group, "bookYield"),
  };
  const combined = freezeEcdf(
    group.map((measurement) => relativeZ(measurement, { yields })).filter((z) => z !== undefined),
  );
  return { yields, ...(combined && { combined }) };
}

function freezeYield(group: readonly ValuationMeasurement[], name: YieldName) {
  const tables = new Map<string, EcdfTable>();
  const add = (key: string, peers: readonly ValuationMeasurement[], minPeers?: number) => {
    const values = peers.map(({ yields }) => yields[name]).filter((y) => y !== undefined);
    const table = freezeEcdf(values, minPeers);
    if (table !== undefined) tables.set(key, table);
  };

  add(WHOLE_CLASS, group);
  for (const [sector, peers] of Map.groupBy(group, ({ sector }) => sector)) {
    if (sector !== null) add(sector, peers, MIN_SECTOR_PEERS);
  }
  return tables;
}

function yieldScores({ sector, yields }: ValuationMeasurement, tables: ValuationTables) {
  return YIELDS.flatMap((name) => {
    const value = yields[name];
    const byPeers = tables.yields[name];
    const table = (sector === null ? undefined : byPeers.get(sector)) ?? byPeers.get(WHOLE_CLASS);
    return value === undefined || table === undefined ? [] : [{ name, z: ecdfZ(table, value) }];
  });
}

function relativeZ(measurement: ValuationMeasurement, tables: ValuationTables) {
  const scores = yieldScores(measurement, tables);
  return scores.length < MIN_YIELDS ? undefined : mean(scores.map(({ z }) => z));
}

/** When, and on how old a price, a valuation is read. */
type ReadingTime = Pick<ValuationContext, "filings" | "at" | "dayMs"> & {
  /** Sessions of the class since the instrument's newest bar; 0 when it is up to date. */
  readonly missedSessions: number;
};

/**
 * Valuation of a stock against its sector, with both yields or not at all. Confidence 1 up to 100
 * days after the last filing, then falling linearly to 0 at 200 days; half of it when the price is
 * one session late, none when it is later.
 */
export function readValuation(
  measurement: ValuationMeasurement | undefined,
  tables: ValuationTables,
  { filings, at, dayMs, missedSessions }: ReadingTime,
): Reading {
  if (measurement === undefined) return unread(whyUnmeasured(filings, at, dayMs));
  const { asOf } = measurement;
  const staleAfter = asOf + FRESH_FILING_DAYS * dayMs;
  const inputs = stockInputs(measurement, tables);
  const z = relativeZ(measurement, tables);
  if (z === undefined) return unread("insufficient_data", { asOf, staleAfter, inputs });

  const ageDays = (at - asOf) / dayMs;
  const freshness = Math.min(1, (MAX_FILING_AGE_DAYS - ageDays) / FRESH_FILING_DAYS);
  if (freshness <= 0 || missedSessions > 1) return unread("stale", { asOf, staleAfter, inputs });
  return {
    z: tables.combined === undefined ? z : ecdfZ(tables.combined, z),
    confidence: freshness * (missedSessions === 0 ? 1 : 0.5),
    status: at > staleAfter || missedSessions > 0 ? "stale" : "ok",
    asOf,
    staleAfter,
    inputs,
  };
}

function whyUnmeasured({ newestAt, shareCounts }: Filings, at: number, dayMs: number) {
  if (newestAt === undefined) return "not_observed";
  const countedAt = shareCounts.at(-1)?.availableAt ?? at;
  const isOld =
    at - newestAt > MAX_FILING_AGE_DAYS * dayMs ||
    at - countedAt > MAX_SHARE_COUNT_AGE_DAYS * dayMs;
  return isOld ? "stale" : "insufficient_data";
}

function stockInputs(measurement: ValuationMeasurement, tables: ValuationTables): Input[] {
  const { yields, marketCapUsd, shares, priceAt, asOf } = measurement;
  const scores = yieldScores(measurement, tables);
  const inputs = YIELDS.map((name): Input => {
    const z = scores.find((score) => score.name === name)?.z ?? null;
    const weight = z === null || scores.length < MIN_YIELDS ? 0 : 1 / scores.length;
    return { name, value: yields[name] ?? null, unit: "fraction", z, weight, observedAt: asOf };
  });
  const shown = { z: null, weight: 0 };
  return [
    ...inputs,
    { name: "marketCapUsd", value: marketCapUsd, unit: "USD", ...shown, observedAt: priceAt },
    {
      name: "sharesOutstanding",
      value: shares.value,
      unit: "shares",
      ...shown,
      observedAt: shares.availableAt,
    },
  ];
}
