import type { AssetClass, Instrument } from "../../market/instrument.ts";
import type { Source } from "../../market/market.ts";
import type {
  Bar,
  Feed,
  Fundamental,
  Known,
  Mention,
  OnChain,
  Print,
  ShortVolume,
  WeeklyVolume,
} from "../../market/records.ts";
import type { Answer } from "./answer.ts";

/** What a provider tells of, by the list of an instrument's records that it fills. */
interface FeedRecords extends Readonly<Record<Feed, Known>> {
  /** `logReturn` follows from the bar before. */
  readonly bars: Omit<Bar, "logReturn">;
  readonly fundamentals: Fundamental;
  readonly mentions: Mention;
  readonly prints: Print;
  readonly shortVolumes: ShortVolume;
  readonly weeklyVolumes: WeeklyVolume;
  readonly onChain: OnChain;
}

/** One record and its place. What is given twice is kept as it was given first. */
export type Observation = {
  readonly [F in Feed]: {
    readonly feed: F;
    /** Symbol of the universe. */
    readonly symbol: string;
    /** What it is about, Unix milliseconds: the same whenever it is given. */
    readonly at: number;
    /** Names it within feed, symbol and instant. */
    readonly id: string;
    /** `availableAt` is when it is public by its rule (scoring method 1.1), whenever it is read. */
    readonly record: FeedRecords[F];
  };
}[Feed];

/** What was given and cannot be true, kept apart with the reason. */
export interface Rejected {
  readonly symbol: string;
  readonly feed: Feed;
  /** What it is about, Unix milliseconds. */
  readonly at: number;
  readonly id: string;
  /** Why, in a sentence for the operator; what the provider sent is quoted and bounded. */
  readonly reason: string;
  /** Close of a bar that leaps: the next bar may show that it was true. */
  readonly close?: number;
}

/** What is asked of a provider, all of it: secrets stand in `headers` alone. */
export interface ProviderRequest {
  /** Where it goes if not to the provider's origin; a mirror stands for all origins. */
  readonly origin?: string;
  /** Path and query below the provider's origin, for example `/products/BTC-USD/candles?…`. */
  readonly path: string;
  /** Absent: GET. */
  readonly post?: { readonly type: "application/json"; readonly body: string };
  readonly headers?: Readonly<Record<string, string>>;
  /** Statuses beside 200 that `read` understands, for example 304, or 403 for a missing day. */
  readonly accepts?: readonly number[];
  /** Largest body in bytes, decompressed; 16 MiB unless given. */
  readonly maxBytes?: number;
  /** How long the answer may be kept on disk and used again, in milliseconds; absent or 0: not. */
  readonly keepMs?: number;
}

/** What an answer brings. */
export interface Reading {
  readonly data: readonly Observation[];
  readonly rejected?: readonly Rejected[];
  /** Where to go on, kept with the data in one commit. At most 1,000 characters. */
  readonly cursor: string;
  /** Nothing is asked before this instant, Unix milliseconds. */
  readonly notBefore?: number;
  /** Symbols that the provider says it does not have, all of the series; it is asked again. */
  readonly unknown?: readonly string[];
}

/** The next thing to do: wait, or ask and read. */
export type Step =
  | { readonly waitUntil: number }
  | {
      readonly request: ProviderRequest;
      /**
       * Reads the answer; pure.
       *
       * @throws {ProviderFault} When it is not what the provider documents, or says that it cannot.
       */
      read(answer: Answer): Reading;
    };

/** One thing that is followed through time, such as the candles of a coin, with its own cursor. */
export interface Series {
  /** Unique within the provider, stable over versions, for example `BTC-USD`. */
  readonly key: string;
  /**
   * What to do next; pure.
   *
   * @param cursor What the last reading left, `undefined` at the very beginning.
   * @param now Unix milliseconds.
   * @param failures Answers in a row, up to now, that could not be read: where the name of a page
   *   does not lead on any more, what it is part of begins anew.
   */
  next(cursor: string | undefined, now: number, failures?: number): Step;
}

/** Requests that a provider allows: at most `requests` in any window of `perMs` milliseconds. */
export interface Budget {
  readonly requests: number;
  readonly perMs: number;
}

/** What a provider is made for. */
export interface ProviderOptions {
  /** Of its classes. */
  readonly instruments: readonly Instrument[];
  /** Those of its feeds that are wanted of it: where several fill one, one is asked. */
  readonly feeds: ReadonlySet<Feed>;
  /** First instant that history is wanted of, Unix milliseconds. */
  readonly historyFrom: number;
  /** Settings of the provider by their names in the environment; those that it needs are there. */
  readonly settings: Readonly<Record<string, string>>;
}

/** What is the same for every kind of provider. */
interface ProviderBase extends Omit<Source, "simulated"> {
  /** Whether its terms allow one's own use only: then nobody gets its data unasked. */
  readonly isForOwnUse: boolean;
  /** Where it is, unless the operator names a mirror. */
  readonly origin: string;
  /** Feeds that it fills. */
  readonly feeds: readonly Feed[];
  /** Classes of instruments that it knows. */
  readonly classes: readonly AssetClass[];
  /** Names of the environment variables that it cannot do without; none: it needs no key. */
  readonly needs: readonly string[];
}

/** A provider that is asked. */
export interface PolledProvider extends ProviderBase {
  readonly kind: "polled";
  readonly budget: Budget;
  /** Everything that is followed for these instruments. */
  series(options: ProviderOptions): readonly Series[];
}

/** A provider that tells by itself, over a WebSocket. */
export interface StreamedProvider extends ProviderBase {
  readonly kind: "streamed";
  /** Path and query to connect to, going on after a cursor. */
  path(cursor: string | undefined): string;
  /** Reader of messages for these instruments; `undefined` for what does not matter here. */
  reader(options: ProviderOptions): (message: string, now: number) => Reading | undefined;
}

/** A supply of live market data; one file each in `providers/`. */
export type Provider = PolledProvider | StreamedProvider;
