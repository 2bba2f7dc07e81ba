import type { ResolvedAlert, ResolvedSelector } from "../alerts/watchlists/watchlist.ts";
import { CLASS_PLURALS } from "../answers/range-alert.ts";
import {
  noRangeReason,
  SESSIONS_PER_YEAR,
  TOO_FEW_SESSIONS_TEXT,
  toPercent,
} from "../answers/risk.ts";
import { Problem } from "../lib/problem.ts";
import { AssetClass } from "../market/instrument.ts";
import type { MarketView } from "../market/market-view.ts";
import { rangeBreachesOf, riskTableOf } from "../risk/measured-table.ts";
import { forecastSigmaAt } from "../risk/outlook.ts";
import { watchedHorizon } from "../risk/range-events.ts";
import type { HorizonRiskTable } from "../risk/table.ts";

/** Symbols or classes that have no range, and the reason, worded to follow a colon. */
interface NamesWithoutRange {
  readonly names: readonly string[];
  readonly reason: string;
}

/**
 * Next steps for an alert of the kind `range`: how often to expect an event, and which instruments
 * have no range. Empty for alerts of other kinds.
 */
export function nextStepsOfRangeAlert(
  { kinds, watched }: Pick<ResolvedAlert, "kinds" | "watched">,
  market: MarketView,
): readonly string[] {
  if (!kinds.includes("range")) return [];
  const rates = classesOf(watched, market).flatMap((assetClass) => {
    const table = watchedHorizon(riskTableOf(market.source), assetClass);
    return table === undefined ? [] : rateOf(assetClass, table, market);
  });
  return [
    ...rates,
    ...withoutRange(watched, market).map(
      ({ names, reason }) =>
        `range: no event comes of ${names.join(", ")}: ${reason}. Use signal_shift or volatility there.`,
    ),
  ];
}

/**
 * @throws {Problem} `invalid_request` if `range` is the only kind of an alert and none of the
 * watched instruments has a range.
 */
export function requireForecastRange(
  { kinds, watched }: Pick<ResolvedAlert, "kinds" | "watched">,
  market: MarketView,
): void {
  if (kinds.some((kind) => kind !== "range")) return;
  const without = withoutRange(watched, market);
  const count = without.reduce((sum, { names }) => sum + names.length, 0);
  const all = watched.by === "symbols" ? watched.symbols.length : classesOf(watched, market).length;
  if (count === 0 || count < all) return;
  const reasons = without.map(({ names, reason }) => `${names.join(", ")}: ${reason}`);
  throw new Problem("invalid_request", {
    detail: `kinds: there is no range for ${reasons.join("; ")}.`,
    next: "Use the kinds signal_shift or volatility, or name an instrument for which get_signal with risk=full has ranges.",
  });
}

/**
 * The rate of range events in words, for example "range: closes left 1 in 17 ranges of stocks (5.94
 * % of 90935 over 5 sessions, out of sample): expect about 3 events a year for each."; empty if it
 * was not measured.
 */
function rateOf(
  assetClass: AssetClass,
  { horizon }: HorizonRiskTable,
  { source }: MarketView,
): readonly string[] {
  const breaches = rangeBreachesOf(source)[assetClass];
  if (breaches === null) return [];
  const { share, ranges } = breaches;
  const yearly = Math.round((share * SESSIONS_PER_YEAR[assetClass]) / horizon);
  const span = `${horizon} ${assetClass === "crypto" ? "days" : "sessions"}`;
  return [
    `range: closes left 1 in ${Math.round(1 / share)} ranges of ${CLASS_PLURALS[assetClass]} (${toPercent(share)} % of ${ranges} over ${span}, out of sample): expect about ${yearly} events a year for each.`,
  ];
}

/** The watched symbols, or whole classes, that have no range at present. */
function withoutRange(watched: ResolvedSelector, market: MarketView): readonly NamesWithoutRange[] {
  const table = riskTableOf(market.source);
  const untested = (assetClass: AssetClass): string | undefined => {
    if (watchedHorizon(table, assetClass) !== undefined) return undefined;
    const [first] = table.classes[assetClass];
    return first === undefined
      ? "nothing of the class has a forecast"
      : noRangeReason(first.evidence);
  };
  const found =
    watched.by === "filter"
      ? classesOf(watched, market).map((one) => ({
          name: CLASS_PLURALS[one],
          reason: untested(one),
        }))
      : instrumentsOf(watched.symbols, market).map(({ symbol, assetClass }) => {
          const { bars } = market.records(symbol);
          const isYoung = forecastSigmaAt(bars, assetClass, market.knownUntil()) === undefined;
          return {
            name: symbol,
            reason: untested(assetClass) ?? (isYoung ? TOO_FEW_SESSIONS_TEXT : undefined),
          };
        });
  const byReason = Map.groupBy(found, ({ reason }) => reason);
  return [...byReason].flatMap(([reason, members]) =>
    reason === undefined ? [] : [{ names: members.map(({ name }) => name), reason }],
  );
}

/** The asset classes that an alert watches. */
function classesOf(watched: ResolvedSelector, market: MarketView): readonly AssetClass[] {
  if (watched.by === "filter" && watched.assetClass !== null) return [watched.assetClass];
  const instruments =
    watched.by === "symbols" ? instrumentsOf(watched.symbols, market) : market.instruments();
  const known = new Set(instruments.map(({ assetClass }) => assetClass));
  return AssetClass.options.filter((one) => known.has(one));
}

function instrumentsOf(symbols: readonly string[], { instruments }: MarketView) {
  const wanted = new Set(symbols);
  return instruments().filter(({ symbol }) => wanted.has(symbol));
}
