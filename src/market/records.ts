import type { Instrument } from "./instrument.ts";

/**
 * A record with the instant at which it became known. A read as of T sees only records with
 * `availableAt <= T`.
 */
export interface PointInTimeRecord {
  /** When the record became known, Unix milliseconds. */
  readonly availableAt: number;
}

/**
 * A list of records: an array, or a lazy list that computes each record when it is read. Two reads
 * at an index of a lazy list return equal records, but not the same object.
 */
export type RecordList<R> = Pick<readonly R[], "length" | "at" | "slice"> & Iterable<R>;

/** Trading in one instrument over one session, with prices as traded that day. */
export interface Bar extends PointInTimeRecord {
  /** Label of the session: an ISO date, or an ISO instant if sessions are shorter than a day. */
  readonly session: string;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** In shares; for coins, in quote currency. */
  readonly volume: number;
  /** Cash dividend per share whose ex-date is the session; 0 if none. */
  readonly dividend: number;
  /** New shares per old share for a split whose ex-date is the session; 1 if there is no split. */
  readonly split: number;
  /** ln((close + dividend) * split / previous close); `null` on the first bar. */
  readonly logReturn: number | null;
}

/** A bar as its source reports it, without `logReturn`, which follows from the bar before. */
export type ReportedBar = Omit<Bar, "logReturn">;

/**
 * Why a bar is suspicious:
 * - `impossible`: prices contradict each other or are not above 0
 * - `jump`: open or close too far from the previous close
 * - `spike`: high or low too far from open and close
 * - `repeat`: a repetition of the bar before
 * - `split`: prices as after a split that was not announced
 */
export const BAR_FAULTS = ["impossible", "jump", "spike", "repeat", "split"] as const;
export type BarFault = (typeof BAR_FAULTS)[number];

/**
 * Verdict on a suspicious bar:
 * - `confirmed`: used from the next bar on
 * - `dropped`: never used
 * - `adjusted`: used with the split that was missing
 */
export const BAR_VERDICTS = ["confirmed", "dropped", "adjusted"] as const;
export type BarVerdict = (typeof BAR_VERDICTS)[number];

/** A bar that was suspicious when it became known. */
export interface BarDoubt extends PointInTimeRecord {
  readonly session: string;
  readonly fault: BarFault;
  /** What is wrong with the bar, in one sentence. */
  readonly detail: string;
  /**
   * Verdict reached when the next bar became known, and that instant (Unix milliseconds); `null`
   * until then.
   */
  readonly outcome: { readonly verdict: BarVerdict; readonly at: number } | null;
}

/** One off-exchange trade (tape exchange code D): ATS, internalized or OTC. */
export interface Print extends PointInTimeRecord {
  readonly id: string;
  /** Label of the session that the print belongs to. */
  readonly session: string;
  /** Time of execution, Unix milliseconds. */
  readonly tradedAt: number;
  readonly price: number;
  readonly sizeShares: number;
  /** Reporting facility, for example `FINRA-TRF`. */
  readonly venue: string;
  /** Sale conditions as spelled by the source; `""` for a regular sale. */
  readonly conditions: string;
  /** Best bid at execution; `null` if the source has no quotes. */
  readonly bid: number | null;
  /** Best offer at execution; `null` if the source has no quotes. */
  readonly ask: number | null;
  readonly canceled: boolean;
  /**
   * Whether the side (buy or sell) may be estimated from the quotes; false if the sale conditions
   * say that the price was not set by the quotes at execution.
   */
  readonly signable: boolean;
}

/**
 * Off-exchange volume of one session, split into shares marked short and the total (FINRA Reg SHO
 * daily file).
 */
export interface ShortVolume extends PointInTimeRecord {
  readonly session: string;
  readonly shortShares: number;
  readonly totalShares: number;
}

/**
 * Off-exchange volume of one week by kind of venue (FINRA OTC transparency data). It is published
 * two to four weeks later, so it is shown but never scored.
 */
export interface WeeklyVolume extends PointInTimeRecord {
  /** ISO date of the Monday of the week. */
  readonly weekStart: string;
  /** Shares traded in alternative trading systems, the dark pools proper. */
  readonly atsShares: number;
  /** Shares traded elsewhere off the exchanges: internalized orders and OTC trades. */
  readonly otcShares: number;
}

/** One public message about an instrument. Its text is untrusted data. */
export interface Mention extends PointInTimeRecord {
  readonly id: string;
  readonly text: string;
  /** Opaque key of the author; `null` if the source hides the author. */
  readonly author: string | null;
  readonly followers: number | null;
  /** Age of the author's account in days; absent or `null` if the source does not know it. */
  readonly accountAgeDays?: number | null;
  /** Number of instruments that the message mentions, at least 1. */
  readonly symbolCount: number;
  /** The author's own tag; `null` if the message has none. */
  readonly stance: "bullish" | "bearish" | null;
}

/** Metrics that the method reads from quarterly filings; a source may lack some of them. */
export type FundamentalMetric =
  | "netIncome"
  | "freeCashFlow"
  | "ebitda"
  | "equity"
  | "assets"
  | "debt"
  | "cash"
  | "shares";

/** One figure of a quarterly filing, as filed. */
export interface Fundamental extends PointInTimeRecord {
  readonly metric: FundamentalMetric;
  /** End of the fiscal quarter, Unix milliseconds. */
  readonly periodEnd: number;
  /** In USD; `shares` is a number of shares on the share basis of the filing. */
  readonly value: number;
}

/** Network valuation of a coin over one UTC day. */
export interface OnChainFigures extends PointInTimeRecord {
  readonly session: string;
  /** Market value divided by realized value; `null` if not published. */
  readonly mvrv: number | null;
  /** Market value divided by the value transferred that day; absent or `null` if not published. */
  readonly nvt?: number | null;
  /** Market value in USD; absent or `null` if not published. */
  readonly marketCapUsd?: number | null;
}

/**
 * All records of one instrument, each list ascending by `availableAt`. A feed observes the
 * instrument from the first record in its list on; before that record, or without a list, nothing
 * is known from the feed.
 */
export interface InstrumentRecords {
  readonly instrument: Instrument;
  readonly bars: RecordList<Bar>;
  /** Bars that were suspicious; absent if there are none. */
  readonly doubtedBars?: RecordList<BarDoubt>;
  readonly fundamentals?: RecordList<Fundamental>;
  readonly mentions?: RecordList<Mention>;
  readonly prints?: RecordList<Print>;
  readonly shortVolumes?: RecordList<ShortVolume>;
  readonly weeklyVolumes?: RecordList<WeeklyVolume>;
  readonly onChain?: RecordList<OnChainFigures>;
}

/** Names of the record lists of an instrument. */
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
