import type { AlertSystem } from "../alerts/create.ts";
import type { Scoring } from "../ingest/create.ts";
import { memoByVersion } from "../lib/memo.ts";
import type { SignalLog } from "../log/signal-log.ts";
import type { Instrument } from "../market/instrument.ts";
import type { SourcesByFeed } from "../market/market.ts";
import type { ToolContext } from "./tool.ts";

/**
 * The context of tools. Values that stay equal for all requests until the snapshots change are
 * computed at the first request and cached.
 */
export function createToolContext(
  { market, snapshots, recordedUntil, marketNow, knownUntil, isProvisional }: Scoring,
  { service, watchlists, channels }: Pick<AlertSystem, "service" | "watchlists" | "channels">,
  signalLog?: SignalLog,
): ToolContext {
  const perEdition = <T>(make: () => T) => memoByVersion(snapshots.edition, make);
  // While the scores are recomputed, the market records are read up to the market's clock, not only
  // up to the last scored session.
  const list = perEdition(() => market.recordsUntil(isProvisional() ? marketNow() : knownUntil()));
  const records = memoByVersion(
    list,
    () => new Map(list().map((one) => [one.instrument.symbol, one])),
  );
  return {
    alerts: service,
    watchlists,
    channels,
    ...(signalLog && { signalLog }),
    market: {
      mode: market.mode,
      source: market.source,
      ...(market.printsAre && { printsAre: market.printsAre }),
      ...(market.sourcesOf && {
        sourcesOf: sourcesPer(perEdition, (symbol) => market.sourcesOf?.(symbol) ?? new Map()),
      }),
      ...(market.followed && { followed: market.followed }),
      dayMs: market.dayMs,
      ...(recordedUntil !== undefined && { recordedUntil }),
      sessionAt: (at, assetClass) => market.sessionAt(at, assetClass),
      now: marketNow,
      knownUntil,
      isProvisional,
      instruments: perEdition(instrumentsIn(snapshots)),
      records: (symbol) => listed(records().get(symbol), symbol),
    },
    snapshots: {
      ...snapshots,
      // A new entry in the log also starts a new edition, because tool results refer to log
      // entries.
      edition: () => snapshots.edition() + (signalLog?.edition() ?? 0),
      newest: (symbol) => listed(snapshots.newest(symbol), symbol),
    },
  };
}

function listed<T>(found: T | undefined, symbol: string): T {
  if (found === undefined) throw new Error(`${symbol} is not listed`);
  return found;
}

/** Lists the instruments; returns the same list until the instruments change. */
function instrumentsIn({ allNewest }: Scoring["snapshots"]): () => readonly Instrument[] {
  let before: readonly Instrument[] = [];
  return () => {
    const now = allNewest().map(({ instrument }) => instrument);
    const isSame = now.length === before.length && now.every((one, at) => one === before[at]);
    if (!isSame) before = now;
    return before;
  };
}

/** Data sources by symbol, computed once per edition. */
function sourcesPer(
  perEdition: <T>(make: () => T) => () => T,
  sourcesOf: (symbol: string) => SourcesByFeed,
): (symbol: string) => SourcesByFeed {
  const known = perEdition(() => new Map<string, SourcesByFeed>());
  return (symbol) => {
    const sources = known().get(symbol) ?? sourcesOf(symbol);
    known().set(symbol, sources);
    return sources;
  };
}
