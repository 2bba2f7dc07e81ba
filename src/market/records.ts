import type { Instrument } from "./instrument.ts";

/** Every record says when it could first be known; a read as of T sees only `availableAt <= T`. */
export interface Known {
  /** Unix milliseconds. */
  readonly availableAt: number;
}

/**
 * A list of records: an array, or a lazy list that computes each record on read, so that two reads at
 * an index give equal records and not the same object.
 */
export type RecordList<R> = Pick<readonly R[], "length" | "at" | "slice"> & Iterable<R>;

/** Trading in one instrument over one session, prices as traded that day. */
export interface Bar extends Known {
  /** Label of the session: an ISO date, or an ISO instant where sessions are shorter than a day. */
  readonly session: string;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** Shares; quote currency for coins. */
  readonly volume: number;
  /** Cash paid per share with the session as ex-date, 0 for none. */
  readonly dividend: number;
  /** New shares per old share with the session as ex-date, 1 for none. */
  readonly split: number;
  /** ln((close + dividend) * split / previous close); `null` on the first bar. */
  readonly logReturn: number | null;
}

/** A bar as its source reports it; `logReturn` follows from the bar before. */
export type ReportedBar = Omit<Bar, "logReturn">;

/**
 * Why a bar is doubted. `impossible`: prices that contradict each other or are not above 0. `jump`:
 * open or close too far from the close before. `spike`: high or low too far from open and close.
 * `repeat`: a repetition of the bar before. `split`: prices as after a split that was not
 * announced.
 */
export const BAR_FAULTS = ["impossible", "jump", "spike", "repeat", "split"] as const;
export type BarFault = (typeof BAR_FAULTS)[number];

/**
 * What becomes of a doubted bar. `confirmed`: it is used from the next bar on. `dropped`: it is never
 * used. `adjusted`: it is used with the split that it lacked.
 */
export const BAR_VERDICTS = ["confirmed", "dropped", "adjusted"] as const;
export type BarVerdict = (typeof BAR_VERDICTS)[number];

/** A bar that was doubted when it became known. */
export interface BarDoubt extends Known {
  readonly session: string;
  readonly fault: BarFault;
  /** What is wrong with the bar, in one sentence. */
  readonly detail: string;
  /** What the next bar showed, and when (Unix milliseconds); `null` until then. */
  readonly outcome: { readonly verdict: BarVerdict; readonly at: number } | null;
}

/** One off-exchange trade (tape exchange code D): ATS, internalized or OTC. */
export interface Print extends Known {
  readonly id: string;
  /** Label of the session that the print belongs to. */
  readonly session: string;
  /** Execution time, Unix milliseconds. */
  readonly tradedAt: number;
  readonly price: number;
  readonly sizeShares: number;
  /** Reporting facility, for example `FINRA-TRF`. */
  readonly venue: string;
  /** Sale conditions as their source spells them, `""` for a regular sale. */
  readonly conditions: string;
  /** Best bid at execution, `null` when the source has no quotes. */
  readonly bid: number | null;
  /** Best offer at execution, `null` when the source has no quotes. */
  readonly ask: number | null;
  readonly canceled: boolean;
  /** False when the sale conditions say that the price was not set by the quotes at execution. */
  readonly signable: boolean;
}

/** Off-exchange volume of one session split by short marking (FINRA Reg SHO daily file). */
export interface ShortVolume extends Known {
  readonly session: string;
  readonly shortShares: number;
  readonly totalShares: number;
}

/**
 * Off-exchange volume of one week by kind of venue (FINRA OTC transparency). It is public two to
 * four weeks later: shown, never scored.
 */
export interface WeeklyVolume extends Known {
  /** Monday of the week, an ISO date. */
  readonly weekStart: string;
  /** Traded in alternative trading systems, the dark pools proper. */
  readonly atsShares: number;
  /** Traded elsewhere off the exchanges: internalized orders and OTC trades. */
  readonly otcShares: number;
}

/** One public message about an instrument. Its text is untrusted data. */
export interface Mention extends Known {
  readonly id: string;
  readonly text: string;
  /** Opaque author key, `null` when the source hides it. */
  readonly author: string | null;
  readonly followers: number | null;
  /** Age of the author's account in days; absent or `null` when the source does not know it. */
  readonly accountAgeDays?: number | null;
  /** Number of instruments that the message names, at least 1. */
  readonly symbolCount: number;
  /** The author's own tag, `null` when there is none. */
  readonly stance: "bullish" | "bearish" | null;
}

/** Figures of a quarterly filing that the method reads; a source need not know all of them. */
export type FundamentalMetric =
  | "netIncome"
  | "freeCashFlow"
  | "ebitda"
  | "equity"
  | "debt"
  | "cash"
  | "shares";

/** One figure of one filing, as filed. */
export interface Fundamental extends Known {
  readonly metric: FundamentalMetric;
  /** End of the fiscal quarter, Unix milliseconds. */
  readonly periodEnd: number;
  /** USD; `shares` in shares on the basis of the filing. */
  readonly value: number;
}

/** Network valuation of a coin over one UTC day. */
export interface OnChain extends Known {
  readonly session: string;
  /** Market value over realised value, `null` when not published. */
  readonly mvrv: number | null;
  /** Market value over the value transferred that day; absent or `null` when not published. */
  readonly nvt?: number | null;
  /** Market value in USD; absent or `null` when not published. */
  readonly marketCapUsd?: number | null;
}

/**
 * All records of one instrument, each list ascending by `availableAt`. A feed observes the
 * instrument from its first record on: before that, or without a list, nothing is known of it.
 */
export interface InstrumentRecords {
  readonly instrument: Instrument;
  readonly bars: RecordList<Bar>;
  /** Bars that were doubted; absent where there was none. */
  readonly doubtedBars?: RecordList<BarDoubt>;
  readonly fundamentals?: RecordList<Fundamental>;
  readonly mentions?: RecordList<Mention>;
  readonly prints?: RecordList<Print>;
  readonly shortVolumes?: RecordList<ShortVolume>;
  readonly weeklyVolumes?: RecordList<WeeklyVolume>;
  readonly onChain?: RecordList<OnChain>;
}

/** The lists of an instrument's records. */
export const FEEDS = [
  "bars",
  "fundamentals",
  "mentions",
  "prints",
  "shortVolumes",
  "weeklyVolumes",
  "onChain",
] as const satisfies readonly Exclude<keyof InstrumentRecords, "instrument" | "doubtedBars">[];
export type Feed = (typeof FEEDS)[number];
