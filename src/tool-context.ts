import type { Desk } from "./alerts/desk.ts";
import type { Scoring } from "./scoring.ts";
import type { ToolContext } from "./tool.ts";

/** What tools may reach of a scored market and of alerts. */
export function toolContext(
  { market, analyser, snapshots, marketNow, knownUntil }: Scoring,
  alerts: Desk,
): ToolContext {
  return {
    alerts,
    analyser,
    market: {
      mode: market.mode,
      source: market.source,
      ...(market.printsAre && { printsAre: market.printsAre }),
      ...(market.sourcesOf && { sourcesOf: market.sourcesOf }),
      ...(market.followed && { followed: market.followed }),
      dayMs: market.dayMs,
      now: marketNow,
      knownUntil,
      instruments: () => snapshots.allNewest().map(({ instrument }) => instrument),
      records(symbol) {
        const records = market.recordsUntil(knownUntil());
        const found = records.find(({ instrument }) => instrument.symbol === symbol);
        if (found === undefined) throw new Error(`no records of ${symbol}`);
        return found;
      },
    },
    snapshots: {
      ...snapshots,
      newest(symbol) {
        const snapshot = snapshots.newest(symbol);
        if (snapshot === undefined) throw new Error(`no snapshot of ${symbol}`);
        return snapshot;
      },
    },
  };
}
