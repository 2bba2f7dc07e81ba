import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { Source } from "../../market/market.ts";
import type {
  Feed,
  Fundamental,
  Known,
  Mention,
  OnChain,
  Print,
  ReportedBar,
  ShortVolume,
  WeeklyVolume,
} from "../../market/records.ts";
import type { ProviderResponse } from "./provider-response.ts";

/** Record type of each feed. */
interface FeedRecords extends Readonly<Record<Feed, Known>> {
  readonly bars: ReportedBar;
  readonly fundamentals: Fundamental;
  readonly mentions: Mention;
  readonly prints: Print;
  readonly shortVolumes: ShortVolume;
  readonly weeklyVolumes: WeeklyVolume;
  readonly onChain: OnChain;
}

/** One record with its key. Of duplicates the first is stored. */
export type Observation = {
  readonly [F in Feed]: {
    readonly feed: F;
    /** Symbol of the universe. */
    readonly symbol: string;
    /** Instant that it is about, Unix milliseconds; the same whenever it is read. */
    readonly at: number;
    /** Unique within feed, symbol and instant. */
    readonly id: string;
    /** `availableAt` is its time of publication, whenever it is read. */
    readonly record: FeedRecords[F];
  };
}[Feed];

/** An observation that cannot be true; quarantined with the reason. */
export interface Rejected {
  readonly symbol: string;
  readonly feed: Feed;
  /** Instant that it is about, Unix milliseconds. */
  readonly at: number;
  readonly id: string;
  /** A sentence for the operator; data of the provider are quoted and bounded. */
  readonly reason: string;
}

/** A request to a provider. Secrets are in `headers` alone. */
export interface ProviderRequest {
  /** Other origin than the provider's; a mirror replaces both. */
  readonly origin?: string;
  /** Path and query below the provider's origin, for example `/products/BTC-USD/candles?…`. */
  readonly path: string;
  /** Absent: GET. */
  readonly post?: { readonly type: "application/json"; readonly body: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses beside 200 that `read` understands, for example 304, or 403 for a missing day. */
  readonly accepts?: readonly number[];
  /** Largest body in bytes, decompressed. Default: 16 MiB. */
  readonly maxBytes?: number;
  /** How long the answer may be cached on disk, in milliseconds. Default: not at all. */
  readonly keepMs?: number;
}

/** Content of an answer. */
export interface ParsedResponse {
  readonly data: readonly Observation[];
  readonly rejected?: readonly Rejected[];
  /** Position of the next request. At most 1,000 characters. */
  readonly cursor: string;
  /** No request before this instant, Unix milliseconds. */
  readonly notBefore?: number;
  /** Every symbol of the series that the provider does not know; it is requested again. */
  readonly unknown?: readonly string[];
}

/** The next step: wait, or send a request and read its answer. */
export type PollStep =
  | { readonly waitUntil: number }
  | {
      readonly request: ProviderRequest;
      /**
       * Reads the answer; pure.
       *
       * @throws {ProviderFault} When the answer is not as documented, or reports a failure.
       */
      read(answer: ProviderResponse): ParsedResponse;
    };

/** A sequence of observations with a cursor of its own, such as the candles of a coin. */
export interface Series {
  /** Unique within the provider, stable over versions, for example `BTC-USD`. */
  readonly key: string;
  /**
   * The next step; pure.
   *
   * @param cursor Cursor of the last reading, `undefined` at the very beginning.
   * @param now Unix milliseconds.
   * @param failures Malformed answers in a row: where a page token has expired, its session or
   *   period is read again.
   */
  next(cursor: string | undefined, now: number, failures?: number): PollStep;
}

/** Requests that a provider allows: at most `requests` in any window of `perMs` milliseconds. */
export interface Budget {
  readonly requests: number;
  readonly perMs: number;
}

/** How a provider is used. */
export interface ProviderOptions {
  /** Instruments of its classes. */
  readonly instruments: readonly Instrument[];
  /** The feeds that it is used for; of several providers of a feed one is used. */
  readonly feeds: ReadonlySet<Feed>;
  /** First instant of the history that is needed, Unix milliseconds. */
  readonly historyFrom: number;
  /** Settings of the provider by environment variable; those that it needs are set. */
  readonly settings: Readonly<Record<string, string>>;
}

/** Members of polled and streamed providers. */
interface ProviderBase extends Omit<Source, "simulated"> {
  /** Whether its terms allow the operator's own use only: then the operator has to opt in. */
  readonly isForOwnUse: boolean;
  /** Its origin, unless the operator configures a mirror. */
  readonly origin: string;
  /** Feeds that it provides. */
  readonly feeds: readonly Feed[];
  /** Asset classes that it covers. */
  readonly classes: readonly AssetClass[];
  /** Environment variables that it requires. */
  readonly needs: readonly string[];
}

/** A provider that is polled over HTTP. */
export interface PolledProvider extends ProviderBase {
  readonly kind: "polled";
  readonly budget: Budget;
  /** The series of these instruments. */
  series(options: ProviderOptions): readonly Series[];
}

/** A provider that streams over a WebSocket. */
export interface StreamedProvider extends ProviderBase {
  readonly kind: "streamed";
  /** Path and query to connect to, resuming after a cursor. */
  path(cursor: string | undefined): string;
  /** Reader of messages for these instruments; returns `undefined` for irrelevant ones. */
  reader(options: ProviderOptions): (message: string, now: number) => ParsedResponse | undefined;
}

/** A provider of live market data; each has a file in `providers/`. */
export type Provider = PolledProvider | StreamedProvider;
