import { covers } from "../alerts/rules/condition.ts";
import type { ResolvedAlert } from "../alerts/watchlists/watchlist.ts";
import { roundFraction } from "../answers/rounding.ts";
import { SIGNAL_THRESHOLDS } from "../score/signal-hysteresis.ts";
import type { ToolContext } from "./tool.ts";

/** Maximum number of instruments that the warning names. */
const MAX_NAMED = 10;

/**
 * Which instruments of an alert of the kind `signal_shift` have too little coverage to become LONG
 * or SHORT now; `undefined` for other alerts, and if no instrument has too little.
 */
export function lowCoverageText(
  alert: Pick<ResolvedAlert, "kinds" | "watched">,
  { snapshots }: Pick<ToolContext, "snapshots">,
): string | undefined {
  if (!alert.kinds.includes("signal_shift")) return undefined;
  const thin = snapshots.allNewest().filter(({ instrument, coverage }) => {
    const { minCoverage } = SIGNAL_THRESHOLDS[instrument.assetClass];
    return minCoverage !== null && coverage < minCoverage && covers(alert, instrument);
  });
  if (thin.length === 0) return undefined;
  const named = thin
    .slice(0, MAX_NAMED)
    .map(({ instrument, coverage }) => `${instrument.symbol} (${roundFraction(coverage)})`);
  const more = thin.length - named.length;
  return `${named.join(", ")}${more > 0 ? ` and ${more} more` : ""} cannot become LONG or SHORT with the coverage of now (in brackets); both need ${SIGNAL_THRESHOLDS.etf.minCoverage}.`;
}

/** The warning of `lowCoverageText` for the owner of an alert; empty without one. */
export function nextStepsOfSignalAlert(
  ...[alert, context]: Parameters<typeof lowCoverageText>
): readonly string[] {
  const text = lowCoverageText(alert, context);
  return text === undefined ? [] : [`signal_shift: ${text} get_factors says what is missing.`];
}
