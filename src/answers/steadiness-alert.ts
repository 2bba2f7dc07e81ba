import { z } from "zod";
import type { ResolvedAlert } from "../alerts/watchlists/watchlist.ts";
import { Problem } from "../lib/problem.ts";
import type { MarketView } from "../market/market-view.ts";
import { STEADINESS_ALERT_REASONS, type SteadinessAlert } from "../score/steadiness-events.ts";
import { CLASS_PLURALS } from "./range-alert.ts";
import { STEADINESS_MEANING } from "./steadiness.ts";

/** Members of a steadiness event. */
export const SteadinessAlertFields = z.object({
  reason: z
    .enum(STEADINESS_ALERT_REASONS)
    .describe("The side of level on which steadiness is now; at level it is above."),
  level: z.int().describe("The steadinessLevel of the alert."),
  steadiness: z.int().min(0).max(100).describe(STEADINESS_MEANING),
  rank: z.number().describe("1 is the steadiest."),
  peers: z.int().describe("Number of stocks or coins ranked."),
});

/** Renders a steadiness event. */
export const steadinessAlertAnswer = ({
  reason,
  level,
  reading: { value, peers, evidence },
}: SteadinessAlert): z.input<typeof SteadinessAlertFields> => ({
  reason,
  level,
  peers,
  steadiness: Math.round(value),
  rank: evidence.risk.rank,
});

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
