import type { PanelSession } from "../answers/export-table.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { Market } from "../market/market.ts";
import { ScoringEngine } from "../score/scoring-engine.ts";
import type { Snapshot } from "../score/snapshot.ts";

/**
 * Scores a market with the service's own engine and yields the sessions of a class one by one, so
 * that at most one session is in memory.
 */
export function* walkPanel({
  market,
  assetClass,
  from,
  to,
}: {
  readonly market: Market;
  readonly assetClass: AssetClass;
  /** First and last close to include, Unix milliseconds. */
  readonly from: number;
  readonly to: number;
}): Generator<PanelSession, void> {
  let session: Snapshot[] = [];
  /**
   * The class of the newest snapshot. The engine scores one class after another, so another class
   * means that the wanted class is complete.
   */
  let scored: AssetClass | undefined;
  const origin = market.servedFrom(from);
  const engine = new ScoringEngine(
    { ...market, servedFrom: () => origin },
    {
      clear: () => {},
      setNewest: () => {},
      addClosed(snapshot) {
        scored = snapshot.instrument.assetClass;
        if (scored === assetClass && snapshot.at >= from) session.push(snapshot);
      },
    },
  );
  let hasBegun = false;
  for (const _ of engine.refreshInSteps(to)) {
    if (hasBegun && scored !== assetClass) return;
    hasBegun = scored === assetClass;
    const [first] = session;
    if (first === undefined) continue;
    yield { at: first.at, snapshots: session.sort(bySymbol) };
    session = [];
  }
}

const bySymbol = ({ instrument: a }: Snapshot, { instrument: b }: Snapshot): number =>
  a.symbol < b.symbol ? -1 : 1;
