import { z } from "zod";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { MarketMode, type Source, type SourcesByFeed } from "../market/market.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { METHOD_VERSION, type PastSnapshot, STATUSES } from "../score/snapshot.ts";

/** A symbol as callers write it. */
export const SymbolInput = z
  .string()
  .regex(/^[!-~][ -~]{0,19}$/, "Expected a ticker of up to 20 ASCII characters.")
  .describe("Ticker, for example AAPL, BRK-B or BTC-USD; find_instruments lists them.");

/** An instant as callers write it. */
export const InstantInput = z.iso.datetime({
  offset: true,
  error: "Expected an ISO 8601 instant with a zone, for example 2015-06-30T21:00:00Z.",
});

/** Page parameters; `limit` differs between tools. */
export const CursorInput = z
  .string()
  .max(200)
  .describe("nextCursor of the page before; leave it out for the first page.");

/** An instant in an answer. */
export const Instant = z.string().meta({ format: "date-time" });

/** The instrument that an answer is about, spelled out so that a mix-up shows. */
export const Identity = z.object({
  symbol: z.string(),
  name: z.string(),
  assetClass: AssetClass,
  exchange: z.string().nullable().describe("null when the source does not say."),
});

/** Direction of a signal. */
export const Direction = z.enum(DIRECTIONS);

/** How complete an answer is. */
export const AnswerStatus = z
  .enum(STATUSES)
  .describe(
    "ok; partial: a factor is missing or weak; stale: the price is older than the last session; insufficient_data.",
  );

/** Where an answer comes from and how it was made. */
export const Provenance = z.object({
  asOf: Instant.describe("Nothing that became known after this instant was used."),
  market: MarketMode.describe(
    "sandbox is simulated; files and replay are recorded history; live is the market now.",
  ),
  sources: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      terms: z.string(),
      simulated: z.boolean(),
    }),
  ),
  methodVersion: z.string(),
});

/** What every answer about one instrument begins with. */
export const Common = z.object({
  ...Identity.shape,
  ...Provenance.shape,
  status: AnswerStatus,
});

/** ISO 8601 in UTC with milliseconds. */
export const isoInstant = (at: number): string => new Date(at).toISOString();

/** `isoInstant` of a time that may be missing. */
export const isoInstantOrNull = (at: number | null): string | null =>
  at === null ? null : isoInstant(at);

/** A number with a fixed count of decimals, as a number. */
export const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** The identity members of an answer. */
export const identityOf = ({ symbol, name, assetClass, exchange }: Instrument) => ({
  symbol,
  name,
  assetClass,
  exchange,
});

/** The market that an answer is from. */
export interface Origin {
  readonly market: {
    readonly mode: MarketMode;
    readonly source: Source;
    /** The sources of a listed instrument by feed; absent where `source` gave all. */
    readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  };
}

/** The provenance members of an answer about some instruments, or about the market. */
export const provenance = ({ market }: Origin, at: number, symbols: readonly string[] = []) => ({
  asOf: isoInstant(at),
  market: market.mode,
  sources: sourcesOf(market, symbols),
  methodVersion: METHOD_VERSION,
});

function sourcesOf(market: Origin["market"], symbols: readonly string[]): Source[] {
  const givers = symbols.flatMap((symbol) => [...(market.sourcesOf?.(symbol).values() ?? [])]);
  const named = givers.flat();
  return named.length === 0 ? [market.source] : [...new Set(named)];
}

/** The members that every answer about one instrument carries. */
export const common = (origin: Origin, { instrument, at, status }: PastSnapshot) => ({
  ...identityOf(instrument),
  ...provenance(origin, at, [instrument.symbol]),
  status,
});

/** Names a snapshot: an instrument at an instant by one version of the method. */
export const snapshotId = ({
  instrument,
  at,
}: {
  readonly instrument: Instrument;
  readonly at: number;
}): string => `${instrument.symbol}/${isoInstant(at)}/${METHOD_VERSION}`;
