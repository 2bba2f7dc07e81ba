import { z } from "zod";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { MarketMode, type Source, type SourcesByFeed } from "../market/market.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { METHOD_VERSION, type PastSnapshot, STATUSES } from "../score/snapshot.ts";

/** A symbol in the input. */
export const SymbolInput = z
  .string()
  .regex(/^[!-~][ -~]{0,19}$/, "Expected a ticker of up to 20 ASCII characters.")
  .describe("Ticker, for example AAPL, BRK-B or BTC-USD; find_instruments lists them.");

/** An instant in the input. */
export const InstantInput = z.iso.datetime({
  offset: true,
  error: "Expected an ISO 8601 instant with a zone, for example 2015-06-30T21:00:00Z.",
});

/** Page parameters; `limit` differs between tools. */
export const CursorInput = z
  .string()
  .max(200)
  .describe("nextCursor of the page before; leave it out for the first page.");

/** An instant in the output. */
export const Instant = z.string().meta({ format: "date-time" });

/** The instrument of an answer, in full, so that a mix-up is noticed. */
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

/** Source and method of an answer. */
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
  methodVersion: z
    .string()
    .describe("Release of the method, a plus sign and the first 16 digits of its methodHash."),
});

/** Members of every answer about one instrument. */
export const Common = z.object({
  ...Identity.shape,
  ...Provenance.shape,
  status: AnswerStatus,
});

/** ISO 8601 in UTC with milliseconds. */
export const isoInstant = (at: number): string => new Date(at).toISOString();

/** `isoInstant` of an instant that may be `null`. */
export const isoInstantOrNull = (at: number | null): string | null =>
  at === null ? null : isoInstant(at);

/** A number rounded to a fixed number of decimals. */
export const rounded = (value: number, decimals: number): number => Number(value.toFixed(decimals));

/** The identity members of an answer. */
export const identityOf = ({ symbol, name, assetClass, exchange }: Instrument) => ({
  symbol,
  name,
  assetClass,
  exchange,
});

/** The market of an answer. */
export interface Origin {
  readonly market: {
    readonly mode: MarketMode;
    readonly source: Source;
    /** The sources of a listed instrument by feed; absent if `source` supplies all feeds. */
    readonly sourcesOf?: (symbol: string) => SourcesByFeed;
  };
}

/** The provenance members of an answer about instruments, or about the market. */
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

/** The members that every answer about one instrument has. */
export const common = (
  origin: Origin,
  { instrument, at, status, methodVersion = METHOD_VERSION }: PastSnapshot,
) => ({
  ...identityOf(instrument),
  ...provenance(origin, at, [instrument.symbol]),
  methodVersion,
  status,
});

/** Id of a snapshot: an instrument at an instant by one version of the method. */
export const snapshotId = ({
  instrument,
  at,
  methodVersion = METHOD_VERSION,
}: {
  readonly instrument: Instrument;
  readonly at: number;
  readonly methodVersion?: string;
}): string => `${instrument.symbol}/${isoInstant(at)}/${methodVersion}`;
