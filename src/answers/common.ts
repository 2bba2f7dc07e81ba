import { z } from "zod";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { MarketMode, type Source, type SourcesByFeed } from "../market/market.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnown } from "../market/point-in-time.ts";
import { BAR_FAULTS, BAR_VERDICTS, type InstrumentRecords } from "../market/records.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { METHOD_VERSION, type PastSnapshot, STATUSES } from "../score/snapshot.ts";

/** A symbol as an element of an array in the input. Its pattern is not published, because it would
 *  add tokens to the description of every tool. */
export const Ticker = z
  .string()
  .refine(
    (text) => /^[!-~][ -~]{0,19}$/.test(text),
    "Expected a ticker of up to 20 ASCII characters.",
  );

/** A symbol in the input. */
export const SymbolInput = Ticker.describe("Ticker, as find_instruments lists it.");

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

/** Level of detail of an answer. */
export const DetailInput = z
  .enum(["brief", "full"])
  .default("brief")
  .describe("full: every member, unrounded.");
/** A level of detail. */
export type Detail = z.infer<typeof DetailInput>;

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
  asOf: Instant.describe("Only data known at this instant was used."),
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
  provisional: z
    .literal(true)
    .optional()
    .describe("Present for some seconds after a start: scores of the run before, not checked yet."),
});

/** Source and method of an answer; a brief answer lacks the optional members. */
export const AnswerOrigin = z.object({
  ...Provenance.shape,
  date: z
    .string()
    .optional()
    .describe("With a date as asOf: that date. The answer is of its close, or of the last before."),
  recordedUntil: Instant.optional().describe(
    "Present for a recording, not for the market of today: where it ends.",
  ),
  sources: Provenance.shape.sources.optional().describe("With detail=full."),
  methodVersion: Provenance.shape.methodVersion.optional(),
});

/** A bar that was doubted. */
const DoubtedBar = z.object({
  session: z.string(),
  fault: z
    .enum(BAR_FAULTS)
    .describe(
      "impossible: prices contradict each other; jump, spike: too far from the prices before or beside; repeat: the same as the bar before; split: as after an unannounced split.",
    ),
  outcome: z
    .enum(["held", ...BAR_VERDICTS])
    .describe(
      "held: not used until the next bar; confirmed: used since then; dropped: never used; adjusted: used with the split it lacked.",
    ),
  detail: z.string(),
});

/** Members of every answer about one instrument. */
export const CommonMembers = z.object({
  ...Identity.shape,
  ...Provenance.shape,
  status: AnswerStatus,
  quality: z
    .array(DoubtedBar)
    .optional()
    .describe("Suspicious bars among the last 252, newest first, at most 20; absent if none."),
});

/** Members of every answer of a tool about one instrument. */
export const InstrumentAnswer = z.object({
  ...Identity.shape,
  exchange: Identity.shape.exchange.optional(),
  ...AnswerOrigin.shape,
  status: AnswerStatus,
  quality: z
    .array(DoubtedBar.extend({ detail: DoubtedBar.shape.detail.optional() }))
    .optional()
    .describe("Suspicious bars among the last 252, newest first, at most 20; absent if none."),
});

/** ISO 8601 in UTC with milliseconds. */
export const isoInstant = (at: number): string => new Date(at).toISOString();

/** `isoInstant` of an instant that may be `null`. */
export const isoInstantOrNull = (at: number | null): string | null =>
  at === null ? null : isoInstant(at);

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
    /** Whether scores are still those of the previous run while they are being computed again;
     *  absent: never. */
    readonly isWarm?: () => boolean;
    /** The sources of a listed instrument by feed; absent if `source` supplies all feeds. */
    readonly sourcesOf?: (symbol: string) => SourcesByFeed;
    /** Records of a listed instrument; absent for events, which do not report data quality. */
    readonly records?: (symbol: string) => InstrumentRecords;
  };
}

/** The provenance members of an answer about instruments, or about the market. */
export const provenance = ({ market }: Origin, at: number, symbols: readonly string[] = []) => ({
  asOf: isoInstant(at),
  market: market.mode,
  sources: sourcesOf(market, symbols),
  methodVersion: METHOD_VERSION,
  ...(market.isWarm?.() && { provisional: true as const }),
});

/**
 * The origin of an answer in brief, or in full.
 *
 * @param symbols Instruments whose sources are named.
 */
export function answerOrigin(
  { market }: { readonly market: MarketView },
  at: number,
  { detail, symbols = [] }: { readonly detail: Detail; readonly symbols?: readonly string[] },
): z.input<typeof AnswerOrigin> {
  const { sources, methodVersion, ...brief } = provenance({ market }, at, symbols);
  return {
    ...brief,
    ...recordingOf(market),
    ...(detail === "full" && { sources, methodVersion }),
  };
}

function sourcesOf(market: Origin["market"], symbols: readonly string[]): Source[] {
  const givers = symbols.flatMap((symbol) => [...(market.sourcesOf?.(symbol).values() ?? [])]);
  const named = givers.flat();
  return named.length === 0 ? [market.source] : [...new Set(named)];
}

/** The members that every answer about one instrument has. */
export const commonMembers = (
  origin: Origin,
  { instrument, at, status, methodVersion = METHOD_VERSION }: PastSnapshot,
) => {
  const quality = qualityOf(origin.market, instrument, at);
  return {
    ...identityOf(instrument),
    ...provenance(origin, at, [instrument.symbol]),
    methodVersion,
    status,
    ...(quality.length > 0 && { quality }),
  };
};

/** Where the recording of a market ends, if it is one. */
const recordingOf = ({ recordedUntil }: MarketView) =>
  recordedUntil === undefined ? {} : { recordedUntil: isoInstant(recordedUntil) };

/** The members that every full answer of a tool about one instrument has. */
export const fullInstrument = (
  { market }: { readonly market: MarketView },
  snapshot: PastSnapshot,
) => ({ ...commonMembers({ market }, snapshot), ...recordingOf(market) });

/** The instrument in a brief answer, which names the newest doubted bars without explaining them. */
export function briefInstrument(
  context: { readonly market: MarketView },
  { instrument, at, status }: PastSnapshot,
): z.input<typeof InstrumentAnswer> {
  const { symbol, name, assetClass } = instrument;
  const quality = qualityOf(context.market, instrument, at)
    .slice(0, MAX_BRIEF_QUALITY)
    .map(({ session, fault, outcome }) => ({ session, fault, outcome }));
  return {
    symbol,
    name,
    assetClass,
    ...answerOrigin(context, at, { detail: "brief" }),
    status,
    ...(quality.length > 0 && { quality }),
  };
}

/** The members that every answer of a tool about one instrument has. */
export const instrumentAnswer = (
  context: { readonly market: MarketView },
  snapshot: PastSnapshot,
  detail: Detail,
): z.input<typeof InstrumentAnswer> =>
  detail === "full" ? fullInstrument(context, snapshot) : briefInstrument(context, snapshot);

/** Maximum doubted bars in an answer, and in a brief one. */
const MAX_QUALITY = 20;
const MAX_BRIEF_QUALITY = 3;
/** Number of newest bars whose doubts an answer lists: no price window is longer. */
const QUALITY_BARS = 252;

/** Doubts about the newest bars, as known at an instant. */
function qualityOf(
  { records }: Origin["market"],
  { symbol }: Instrument,
  at: number,
): z.input<typeof DoubtedBar>[] {
  const { bars, doubtedBars } = records?.(symbol) ?? {};
  if (bars === undefined || doubtedBars === undefined) return [];
  const first = bars.at(Math.max(0, countKnown(bars, at) - QUALITY_BARS))?.session ?? "";
  return [...doubtedBars]
    .filter(({ availableAt, session }) => availableAt <= at && session >= first)
    .slice(-MAX_QUALITY)
    .reverse()
    .map(({ session, fault, detail, outcome }) => {
      const isSettled = outcome !== null && outcome.at <= at;
      return { session, fault, outcome: isSettled ? outcome.verdict : "held", detail };
    });
}

/** Id of a snapshot: an instrument at an instant by one version of the method, of one series of records. */
export const snapshotId = ({
  instrument,
  at,
  methodVersion = METHOD_VERSION,
  series,
}: Pick<PastSnapshot, "instrument" | "at" | "methodVersion" | "series">): string =>
  [
    instrument.symbol,
    isoInstant(at),
    methodVersion,
    ...(series === undefined ? [] : [series]),
  ].join("/");
