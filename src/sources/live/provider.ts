import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { DataSource } from "../../market/market.ts";
import type {
  Feed,
  Fundamental,
  Mention,
  OnChainFigures,
  PointInTimeRecord,
  Print,
  ReportedBar,
  ShortVolume,
  WeeklyVolume,
} from "../../market/records.ts";
import type { ProviderResponse } from "./provider-response.ts";

/** Record type of each feed. */
interface FeedRecords extends Readonly<Record<Feed, PointInTimeRecord>> {
  readonly bars: ReportedBar;
  readonly fundamentals: Fundamental;
  readonly mentions: Mention;
  readonly prints: Print;
  readonly shortVolumes: ShortVolume;
  readonly weeklyVolumes: WeeklyVolume;
  readonly onChain: OnChainFigures;
}

/** One record with its key. If a key is observed twice, the first record is stored. */
export type Observation = {
  readonly [F in Feed]: {
    readonly feed: F;
    /** Symbol of the universe. */
    readonly symbol: string;
    /**
     * Instant that the record is about, Unix milliseconds; it does not depend on when the record is
     * read.
     */
    readonly at: number;
    /** Id that is unique for its feed, symbol and instant. */
    readonly id: string;
    /**
     * The record; its `availableAt` is the time of publication and does not depend on when the
     * record is read.
     */
    readonly record: FeedRecords[F];
  };
}[Feed];

/** An implausible observation, which is quarantined with the reason. */
export interface RejectedObservation {
  readonly symbol: string;
  readonly feed: Feed;
  /** Instant that the observation is about, Unix milliseconds. */
  readonly at: number;
  readonly id: string;
  /** Reason as a sentence for the operator; text from the provider is quoted and truncated. */
  readonly reason: string;
}

/** A request to a provider. Secrets may be only in `headers`. */
export interface ProviderRequest {
  /** Origin, if it is not that of the provider; a configured mirror replaces both origins. */
  readonly origin?: string;
  /** Path and query below the provider's origin, for example `/products/BTC-USD/candles?…`. */
  readonly path: string;
  /** Body of a POST request; absent for GET. */
  readonly post?: { readonly type: "application/json"; readonly body: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses besides 200 that `read` understands, for example 304, or 403 for a missing day. */
  readonly accepts?: readonly number[];
  /** Maximum size of the decompressed body, in bytes. Default: 16 MiB. */
  readonly maxBytes?: number;
  /** How long the answer may be cached on disk, in milliseconds. Default: not at all. */
  readonly keepMs?: number;
}

/** The content of a parsed answer. */
export interface ParsedResponse {
  readonly data: readonly Observation[];
  readonly rejected?: readonly RejectedObservation[];
  /** Position for the next request, at most 1,000 characters. */
  readonly cursor: string;
  /** No request before this instant, Unix milliseconds. */
  readonly notBefore?: number;
  /** All symbols of the series that the provider does not know; they are requested again later. */
  readonly unknown?: readonly string[];
}

/** The next step: wait, or send a request and read its answer. */
export type PollStep =
  | { readonly waitUntil: number }
  | {
      readonly request: ProviderRequest;
      /**
       * Parses the answer; a pure function.
       *
       * @throws {ProviderFault} If the answer does not have the documented form, or reports a
       * failure.
       */
      read(answer: ProviderResponse): ParsedResponse;
    };

/** A sequence of observations with its own cursor, such as the candles of a coin. */
export interface ProviderSeries {
  /** Key that is unique for the provider and stable across versions, for example `BTC-USD`. */
  readonly key: string;
  /**
   * The next step; a pure function.
   *
   * @param cursor Cursor of the last parsed answer, `undefined` before the first request.
   * @param now Unix milliseconds.
   * @param failures Number of consecutive malformed answers. After several, a page token counts as
   * expired, and its session or period is read again.
   */
  next(cursor: string | undefined, now: number, failures?: number): PollStep;
}

/** Rate limit of a provider: at most `requests` in any window of `perMs` milliseconds. */
export interface RequestBudget {
  readonly requests: number;
  readonly perMs: number;
}

/** Options with which a provider is used. */
export interface ProviderOptions {
  /** Instruments of the asset classes that the provider covers. */
  readonly instruments: readonly Instrument[];
  /**
   * The feeds that the provider is used for. Messages are taken from several providers, every other
   * feed from a single provider.
   */
  readonly feeds: ReadonlySet<Feed>;
  /** Start of the history that is needed, Unix milliseconds. */
  readonly historyFrom: number;
  /** Settings of the provider by environment variable; all required ones are set. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Members that polled and streamed providers have in common. */
interface ProviderBase extends Omit<DataSource, "simulated"> {
  /**
   * Whether the provider's terms allow only the operator's own use, in which case the operator has
   * to opt in.
   */
  readonly isForOwnUse: boolean;
  /** Origin of the provider, unless the operator configures a mirror. */
  readonly origin: string;
  /** Feeds that the provider offers. */
  readonly feeds: readonly Feed[];
  /** Asset classes that the provider covers. */
  readonly classes: readonly AssetClass[];
  /** Required environment variables. */
  readonly needs: readonly string[];
}

/** A provider that is polled over HTTP. */
export interface PolledProvider extends ProviderBase {
  readonly kind: "polled";
  readonly budget: RequestBudget;
  /** Creates the series of the given instruments. */
  series(options: ProviderOptions): readonly ProviderSeries[];
}

/** A provider that streams over a WebSocket. */
export interface StreamedProvider extends ProviderBase {
  readonly kind: "streamed";
  /** Path and query of the WebSocket, which resumes after the cursor. */
  path(cursor: string | undefined): string;
  /**
   * Creates a reader of messages about the given instruments; the reader returns `undefined` for an
   * irrelevant message.
   */
  reader(options: ProviderOptions): (message: string, now: number) => ParsedResponse | undefined;
}

/** A provider of live market data; each has a file in `providers/`. */
export type Provider = PolledProvider | StreamedProvider;
