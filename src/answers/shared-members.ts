import { z } from "zod";
import { AssetClass, type Instrument } from "../market/instrument.ts";
import { type DataSource, MarketMode, type SourcesByFeed } from "../market/market.ts";
import type { MarketView } from "../market/market-view.ts";
import { countKnownRecords } from "../market/point-in-time.ts";
import { BAR_FAULTS, BAR_VERDICTS, type InstrumentRecords } from "../market/records.ts";
import { runningMethod } from "../method/running.ts";
import { DIRECTIONS } from "../score/signal-hysteresis.ts";
import { type PastSnapshot, SNAPSHOT_STATUSES } from "../score/snapshot.ts";

/**
 * A symbol as an array element in tool input. Its pattern is not part of the published schema,
 * because it would add tokens to the description of every tool.
 */
export const Ticker = z
  .string()
  .refine(
    (text) => /^[!-~][ -~]{0,19}$/.test(text),
    "Expected a ticker of up to 20 ASCII characters.",
  );

/** A symbol in tool input. */
export const SymbolInput = Ticker.describe("Ticker, as find_instruments lists it.");

/** An ISO 8601 instant with a time zone, in tool input. */
export const InstantInput = z.iso.datetime({
  offset: true,
  error: "Expected an ISO 8601 instant with a zone, for example 2015-06-30T21:00:00Z.",
});

/**
 * Pagination cursor, shared by all list tools; `limit` is not shared, because its range differs
 * between tools.
 */
export const CursorInput = z.string().max(200).describe("nextCursor of the page before.");

/** An ISO 8601 instant in an answer. */
export const InstantAnswer = z.string().meta({ format: "date-time" });

/**
 * The instrument that an answer is about, in full, so that readers notice a mix-up of instruments.
 */
export const InstrumentIdentity = z.object({
  symbol: z.string(),
  name: z.string(),
  assetClass: AssetClass,
  exchange: z.string().nullable().describe("null when the source does not say."),
});

/** Requested level of detail: brief or full. */
export const DetailInput = z
  .enum(["brief", "full"])
  .default("brief")
  .describe("full: every member, unrounded.");
/** Level of detail of an answer: brief or full. */
export type DetailLevel = z.infer<typeof DetailInput>;

/** Direction of a signal in an answer: LONG, SHORT or WAIT. */
export const DirectionAnswer = z.enum(DIRECTIONS);

/** How complete the data behind an answer is. */
export const AnswerStatus = z
  .enum(SNAPSHOT_STATUSES)
  .describe(
    "ok; partial: a factor is missing or weak; stale: the price is older than the last session; insufficient_data.",
  );

/** Instant, data sources and method version of an answer. */
export const Provenance = z.object({
  asOf: InstantAnswer.describe("Only data known at this instant was used."),
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

/**
 * Instant, data sources and method version of an answer; the optional members are omitted in brief
 * answers.
 */
export const AnswerOrigin = z.object({
  ...Provenance.shape,
  date: z
    .string()
    .optional()
    .describe("With a date as asOf: that date. The answer is of its close, or of the last before."),
  recordedUntil: InstantAnswer.optional().describe(
    "Present for a recording, not for the market of today: where it ends.",
  ),
  sources: Provenance.shape.sources.optional().describe("With detail=full."),
  methodVersion: Provenance.shape.methodVersion.optional(),
});

/** A suspicious bar. */
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

/** Members shared by all answers and events about one instrument. */
export const InstrumentAnswerMembers = z.object({
  ...InstrumentIdentity.shape,
  ...Provenance.shape,
  status: AnswerStatus,
  quality: z
    .array(DoubtedBar)
    .optional()
    .describe("Suspicious bars among the last 252, newest first, at most 20; absent if none."),
});

/** Members shared by all tool answers about one instrument. */
export const InstrumentAnswer = z.object({
  ...InstrumentIdentity.shape,
  exchange: InstrumentIdentity.shape.exchange.optional(),
  ...AnswerOrigin.shape,
  status: AnswerStatus,
  quality: z
    .array(DoubtedBar.extend({ detail: DoubtedBar.shape.detail.optional() }))
    .optional()
    .describe("Suspicious bars among the last 252, newest first, at most 20; absent if none."),
});

/** Formats Unix milliseconds as ISO 8601 in UTC with milliseconds. */
export const isoInstant = (at: number): string => new Date(at).toISOString();

/** Like `isoInstant`, but accepts `null` and returns it. */
export const isoInstantOrNull = (at: number | null): string | null =>
  at === null ? null : isoInstant(at);

/** Selects the members of an instrument that identify it in an answer. */
const instrumentIdentityOf = ({ symbol, name, assetClass, exchange }: Instrument) => ({
  symbol,
  name,
  assetClass,
  exchange,
});

/** The market from which an answer is computed. */
export interface AnswerContext {
  readonly market: {
    readonly mode: MarketMode;
    readonly source: DataSource;
    /**
     * Whether answers still show the scores of the previous run, because the scores are being
     * recomputed after a start. If absent, this never happens.
     */
    readonly isProvisional?: () => boolean;
    /**
     * The sources of the records of an instrument that has data, by feed; absent if the market's
     * `source` supplies all feeds.
     */
    readonly sourcesOf?: (symbol: string) => SourcesByFeed;
    /**
     * Records of an instrument that has data, from which the data quality is read; absent for
     * events, which do not report data quality.
     */
    readonly records?: (symbol: string) => InstrumentRecords;
  };
}

/** The provenance members of an answer. Without `symbols`, the answer is about the whole market. */
export const provenance = (
  { market }: AnswerContext,
  at: number,
  symbols: readonly string[] = [],
) => ({
  asOf: isoInstant(at),
  market: market.mode,
  sources: sourcesOf(market, symbols),
  methodVersion: runningMethod().version,
  ...(market.isProvisional?.() && { provisional: true as const }),
});

/**
 * The provenance members of a tool answer, brief or full.
 *
 * @param symbols Instruments whose data sources a full answer lists.
 */
export function answerOrigin(
  { market }: { readonly market: MarketView },
  at: number,
  { detail, symbols = [] }: { readonly detail: DetailLevel; readonly symbols?: readonly string[] },
): z.input<typeof AnswerOrigin> {
  const { sources, methodVersion, ...brief } = provenance({ market }, at, symbols);
  return {
    ...brief,
    ...recordingOf(market),
    ...(detail === "full" && { sources, methodVersion }),
  };
}

function sourcesOf(market: AnswerContext["market"], symbols: readonly string[]): DataSource[] {
  const givers = symbols.flatMap((symbol) => [...(market.sourcesOf?.(symbol).values() ?? [])]);
  const named = givers.flat();
  return named.length === 0 ? [market.source] : [...new Set(named)];
}

/** The members shared by all answers and events about one instrument. */
export const instrumentAnswerMembers = (
  origin: AnswerContext,
  { instrument, at, status, methodVersion = runningMethod().version }: PastSnapshot,
) => {
  const quality = qualityOf(origin.market, instrument, at);
  return {
    ...instrumentIdentityOf(instrument),
    ...provenance(origin, at, [instrument.symbol]),
    methodVersion,
    status,
    ...(quality.length > 0 && { quality }),
  };
};

/** The answer member that says when a recording ends; empty if the market is not a recording. */
const recordingOf = ({ recordedUntil }: MarketView) =>
  recordedUntil === undefined ? {} : { recordedUntil: isoInstant(recordedUntil) };

/** The members shared by all full tool answers about one instrument. */
export const fullInstrument = (
  { market }: { readonly market: MarketView },
  snapshot: PastSnapshot,
) => ({ ...instrumentAnswerMembers({ market }, snapshot), ...recordingOf(market) });

/**
 * The instrument members of a brief answer: the newest suspicious bars are listed without
 * explanation.
 */
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

/** The members shared by all tool answers about one instrument. */
export const instrumentAnswer = (
  context: { readonly market: MarketView },
  snapshot: PastSnapshot,
  detail: DetailLevel,
): z.input<typeof InstrumentAnswer> =>
  detail === "full" ? fullInstrument(context, snapshot) : briefInstrument(context, snapshot);

/** Maximum number of suspicious bars in a full and in a brief answer. */
const MAX_QUALITY = 20;
const MAX_BRIEF_QUALITY = 3;
/**
 * Suspicious bars are listed only if they are among this many newest bars; no price window is
 * longer.
 */
const QUALITY_BARS = 252;

/** Suspicious bars among the newest `QUALITY_BARS` bars known at an instant, newest first. */
function qualityOf(
  { records }: AnswerContext["market"],
  { symbol }: Instrument,
  at: number,
): z.input<typeof DoubtedBar>[] {
  const { bars, doubtedBars } = records?.(symbol) ?? {};
  if (bars === undefined || doubtedBars === undefined) return [];
  const first = bars.at(Math.max(0, countKnownRecords(bars, at) - QUALITY_BARS))?.session ?? "";
  return [...doubtedBars]
    .filter(({ availableAt, session }) => availableAt <= at && session >= first)
    .slice(-MAX_QUALITY)
    .reverse()
    .map(({ session, fault, detail, outcome }) => {
      const isSettled = outcome !== null && outcome.at <= at;
      return { session, fault, outcome: isSettled ? outcome.verdict : "held", detail };
    });
}

/**
 * Id of a snapshot: symbol, instant, method version and, if the snapshot has one, the series of the
 * records that were used (`RecordSeries`).
 */
export const snapshotId = ({
  instrument,
  at,
  methodVersion = runningMethod().version,
  series,
}: Pick<PastSnapshot, "instrument" | "at" | "methodVersion" | "series">): string =>
  [
    instrument.symbol,
    isoInstant(at),
    methodVersion,
    ...(series === undefined ? [] : [series]),
  ].join("/");
