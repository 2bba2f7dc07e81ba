import type { Desk } from "./alerts/desk.ts";
import type { Instrument } from "./market/instrument.ts";
import type { Givers } from "./market/market.ts";
import { oncePer } from "./once-per.ts";
import type { Scoring } from "./scoring.ts";
import type { ToolContext } from "./tool.ts";

/**
 * What tools may reach of a scored market and of alerts. What is the same for all requests between
 * two editions of the snapshots is made at the first of them, and stays as it was then.
 */
export function toolContext(
  { market, analyser, snapshots, marketNow, knownUntil }: Scoring,
  alerts: Desk,
): ToolContext {
  const perEdition = <T>(make: () => T) => oncePer(snapshots.edition, make);
  const list = perEdition(() => market.recordsUntil(knownUntil()));
  const records = oncePer(list, () => new Map(list().map((one) => [one.instrument.symbol, one])));
  return {
    alerts,
    analyser,
    market: {
      mode: market.mode,
      source: market.source,
      ...(market.printsAre && { printsAre: market.printsAre }),
      ...(market.sourcesOf && { sourcesOf: giversPer(perEdition, market.sourcesOf) }),
      ...(market.followed && { followed: market.followed }),
      dayMs: market.dayMs,
      now: marketNow,
      knownUntil,
      instruments: perEdition(instrumentsIn(snapshots)),
      records: (symbol) => listed(records().get(symbol), symbol),
    },
    snapshots: {
      ...snapshots,
      newest: (symbol) => listed(snapshots.newest(symbol), symbol),
    },
  };
}

function listed<T>(found: T | undefined, symbol: string): T {
  if (found === undefined) throw new Error(`${symbol} is not listed`);
  return found;
}

/** Lists the instruments; the list is another only when they are others. */
function instrumentsIn({ allNewest }: Scoring["snapshots"]): () => readonly Instrument[] {
  let before: readonly Instrument[] = [];
  return () => {
    const now = allNewest().map(({ instrument }) => instrument);
    const isSame = now.length === before.length && now.every((one, at) => one === before[at]);
    if (!isSame) before = now;
    return before;
  };
}

/** Who gives what is known at any moment; who came last is named with what they gave. */
function giversPer(
  perEdition: <T>(make: () => T) => () => T,
  giversOf: (symbol: string) => Givers,
): (symbol: string) => Givers {
  const known = perEdition(() => new Map<string, Givers>());
  return (symbol) => {
    const givers = known().get(symbol) ?? giversOf(symbol);
    known().set(symbol, givers);
    return givers;
  };
}
