import type { AnswerFormat, Value } from "./form.ts";

/** Kind of question. */
type Kind =
  | "single call"
  | "several calls"
  | "ambiguity"
  | "refusal"
  | "missing data"
  | "past"
  | "ranking"
  | "counting"
  | "sector"
  | "average"
  | "two factors"
  | "difference"
  | "history"
  | "dark pool"
  | "alert"
  | "watchlist"
  | "claim";

/** The fifteen everyday questions, which people ask most. */
export const EVERYDAY = [
  "ranking",
  "counting",
  "a past day",
  "a difference",
  "a sector",
  "an average",
  "two factors compared",
  "an alert",
  "why did it change",
  "best five",
  "picture on a day",
  "freshness",
  "risk range",
  "next report",
  "off-exchange share",
] as const;

/** The markets of the tasks: the sandbox with sessions of a day, and a recorded market. */
export type MarketName = "sandbox" | "recorded";

/** Names of the factors. */
export type Factor = "momentum" | "valuation" | "social" | "darkpool";

/** An instrument in a list of signals. */
export interface Item {
  readonly symbol: string;
  readonly name: string;
  readonly assetClass: string;
  readonly sector: string | null;
  readonly status: string;
  readonly signal: string;
  readonly score: number;
  /** `null` for a stock of which no part of the score could be measured. */
  readonly scoreRaw: number | null;
  readonly scoreChange: number | null;
  readonly confidence: number;
  readonly coverage: number;
  readonly factors: Readonly<Record<Factor, string>>;
  readonly nextReport: { readonly expected: string } | null;
}

/** Figures of off-exchange trading in one session or a period. */
interface OffExchangeTotals {
  readonly session: string;
  readonly prints: number | null;
  readonly blocks: number | null;
  readonly blockNotionalUsd: number | null;
  readonly shareOfVolume: number | null;
  readonly shortVolumeRatio: number | null;
}

/** A single off-exchange trade. */
interface Trade {
  readonly tradedAt: string;
  readonly price: number;
  readonly sizeShares: number;
  readonly canceled: boolean;
}

/** An alert as the REST API returns it. */
export interface AlertItem {
  readonly id: string;
  readonly status: string;
  readonly label: string | null;
  readonly symbols: readonly string[] | null;
  readonly watchlist: string | null;
  readonly assetClass: string | null;
  readonly signal: string | null;
  readonly kinds: readonly string[];
  readonly scoreMove: number;
  readonly volatilityZ: number;
  readonly reportSessions: number;
  readonly snoozedUntil: string | null;
}

/** Union of the fields that tasks read in answers of tools and REST endpoints. */
export interface Answer extends Omit<Item, "factors"> {
  readonly scoreRaw: number;
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
  readonly asOf: string;
  readonly items: readonly (Item & AlertItem)[];
  readonly counts: Readonly<Record<"LONG" | "WAIT" | "SHORT" | "insufficientData", number>>;
  readonly failed: readonly { readonly symbol: string }[];
  readonly since: string;
  readonly previousSignal: string | null;
  readonly forcedWait: string | null;
  readonly missingFactors: readonly string[];
  readonly why: Readonly<Record<Factor, number | string>>;
  readonly evidence: { readonly verdict: string };
  readonly pOutperform: number | null;
  readonly price: { readonly value: number };
  readonly range80: Readonly<Record<string, readonly number[]>> | null;
  readonly risk: {
    readonly level: string | null;
    readonly forecast: {
      readonly annualVolatilityPercent: number;
      readonly horizons: readonly {
        readonly sessions: number;
        readonly ranges: readonly { probability: number; low: number; high: number }[] | null;
        readonly fall: { readonly probability: number | null };
      }[];
    } | null;
  };
  readonly attribution: {
    readonly change: number;
    readonly factors: Readonly<Record<Factor, { readonly change: number }>>;
  };
  readonly history: {
    readonly session: readonly string[];
    readonly score: readonly number[];
    readonly price: readonly number[];
    readonly signal: readonly string[];
    readonly return: readonly number[];
  };
  readonly signals: readonly { readonly session: string; readonly signal: string }[];
  readonly factors: Readonly<
    Record<
      Factor,
      {
        readonly status: string;
        readonly z: number | null;
        readonly confidence: number;
        readonly contribution: number;
        readonly inputs: readonly { readonly name: string; readonly value: number | null }[];
      }
    >
  >;
  readonly feeds: { readonly prints: string; readonly shortVolume: string };
  readonly summary: OffExchangeTotals & {
    readonly sessions: number;
    readonly largestPrints: readonly Trade[];
  };
  readonly days: readonly OffExchangeTotals[];
  readonly prints: readonly Trade[];
  readonly entry: string;
  readonly logged: { readonly index: number } | null;
  readonly events: readonly {
    readonly type: string;
    readonly data: { readonly alertId: string; readonly symbol: string };
  }[];
  readonly watchlists: readonly { readonly name: string; readonly symbols: readonly string[] }[];
  readonly nextCursor: string | null;
}

/** REST access for the judge, independent of the MCP tools. */
export interface Truth {
  /** Gets a path with its query. An error response has `isError`. */
  get(path: string): Promise<Answer>;
  /** Posts JSON. @throws {Error} On an error response. */
  post(path: string, body: object): Promise<Answer>;
  /** All instruments with unrounded scores. @param asOf Absent: now. */
  all(asOf?: string): Promise<readonly Item[]>;
}

/** Answers of the earlier steps of a solution. */
export type Answers = readonly [Answer, Answer, Answer, Answer, Answer, Answer, Answer, Answer];

/**
 * A step of a solution: a tool call, or a message to the person. Values that depend on earlier
 * answers are functions of them.
 */
export type Step =
  | readonly [tool: string, given: object | ((answers: Answers) => object)]
  | { readonly tell: (answers: Answers) => string };

/** A question whose answer a program can judge. */
export interface Task {
  readonly kind: Kind;
  /** Which everyday question the task is; absent: none. */
  readonly everyday?: (typeof EVERYDAY)[number];
  /** Market of the task; default: the sandbox. */
  readonly market?: MarketName;
  /** The question as a person would ask it. */
  readonly question: string;
  readonly form: AnswerFormat;
  /** Whether a person has claimed the agent before the task; default: no. */
  readonly isClaimed?: boolean;
  /** Prepares data of the agent, one session before the task. */
  readonly prepare?: (own: Truth) => Promise<unknown>;
  /** Whether the task needs an alert that has fired before the task begins. */
  readonly awaitsEvents?: boolean;
  /**
   * Steps of the reference solution, and a function that derives the answer from the results of the
   * steps.
   */
  readonly solution: readonly Step[];
  readonly answer: (answers: Answers) => Value;
  /**
   * Determines the right answer from REST data, independently of the tools.
   * @param own REST access with a token of the task's agent.
   */
  readonly expected: (truth: Truth, own: Truth) => Promise<Value>;
  /** Change that the agent must have made besides answering, and how to read it; absent: none. */
  readonly left?: {
    readonly read: (own: Truth) => Promise<unknown>;
    readonly is: unknown;
  };
}

/** Mean of numbers. */
export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Items in descending order of a figure, then by symbol; those without the figure are last. */
export const ranked = <T extends { readonly symbol: string }>(
  items: readonly T[],
  figure: (item: T) => number | null,
): readonly T[] => {
  const known = (item: T) => figure(item) ?? -Number.MAX_VALUE;
  return items.toSorted((a, b) => known(b) - known(a) || (a.symbol < b.symbol ? -1 : 1));
};

/** Items in ascending order of their scores, then by symbol; those without a score are last. */
export const rankedFromLowest = (items: readonly Item[]): readonly Item[] =>
  ranked(items, ({ scoreRaw }) => (scoreRaw === null ? null : -scoreRaw));

/** Symbols of the items, in the same order. */
export const symbolsOf = (items: readonly { readonly symbol: string }[]): readonly string[] =>
  items.map(({ symbol }) => symbol);

/**
 * The full REST answer for one instrument.
 *
 * @param more Further query parameters, such as `&asOf=2026-11-18`.
 */
export const full = (truth: Truth, symbol: string, more = ""): Promise<Answer> =>
  truth.get(`/api/signals?symbol=${symbol}&detail=full${more}`);

/** Contribution of a factor in points; 0 for a factor without a value. */
export const pointsOf = (points: number | string): number =>
  typeof points === "number" ? points : 0;
