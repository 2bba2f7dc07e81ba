import type { ResolvedAlert } from "../alerts/watchlists/watchlist.ts";
import { CLASS_PLURALS } from "../answers/range-alert.ts";
import { Problem } from "../lib/problem.ts";
import type { MarketView } from "../market/market-view.ts";

/** What an alert watches that can never have a steadiness event; empty if nothing. */
function unranked(
  { kinds, watched }: Pick<ResolvedAlert, "kinds" | "watched">,
  market: MarketView,
): { readonly names: readonly string[]; readonly isAll: boolean } {
  if (!kinds.includes("steadiness")) return { names: [], isAll: false };
  if (watched.by === "filter") {
    const isFunds = watched.assetClass === "etf";
    return { names: isFunds ? [CLASS_PLURALS.etf] : [], isAll: isFunds };
  }
  const wanted = new Set(watched.symbols);
  const funds = market
    .instruments()
    .filter(({ symbol, assetClass }) => wanted.has(symbol) && assetClass === "etf");
  return { names: funds.map(({ symbol }) => symbol), isAll: funds.length === wanted.size };
}

/** Next steps for an alert of the kind `steadiness`: which of the watched instruments have none. */
export function nextStepsOfSteadinessAlert(
  ...[alert, market]: Parameters<typeof unranked>
): readonly string[] {
  const { names } = unranked(alert, market);
  return names.length === 0
    ? []
    : [`steadiness: no event comes of ${names.join(", ")}: funds are not ranked.`];
}

/**
 * @throws {Problem} `invalid_request` if `steadiness` is the only kind of an alert and it watches
 * funds alone.
 */
export function requireRankedInstrument(...[alert, market]: Parameters<typeof unranked>): void {
  if (alert.kinds.some((kind) => kind !== "steadiness")) return;
  const { names, isAll } = unranked(alert, market);
  if (!isAll) return;
  throw new Problem("invalid_request", {
    detail: `kinds: there is no steadiness of ${names.join(", ")}: funds are not ranked.`,
    next: "Use the kinds signal_shift or volatility, or name a stock or coin.",
  });
}
