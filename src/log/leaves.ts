import { createHmac, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { isoInstant } from "../answers/common.ts";
import { signalPoint } from "../answers/signal-point.ts";
import { FACTORS, type Factor, type Input } from "../factors/reading.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { MarketMode } from "../market/market.ts";
import { METHOD } from "../score/method.ts";
import {
  type FactorResult,
  METHOD_HASH,
  METHOD_VERSION,
  type PastSnapshot,
  type Snapshot,
} from "../score/snapshot.ts";

/** Symbols of one universe leaf: 4,000 of at most 12 bytes fit into an entry. */
const SYMBOLS_PER_PART = 4_000;

/** The text of a leaf: canonical JSON (RFC 8785). */
export type Leaf = string;

const leafOf = (content: object): Leaf => canonicalize(content) as string;

/**
 * The method, before its first use.
 *
 * @param at When it is logged, Unix milliseconds.
 * @param replaces Last checkpoint of the log in whose place this one was started.
 */
export const methodLeaf = (market: MarketMode, at: number, replaces?: string | null): Leaf =>
  leafOf({
    kind: "method",
    v: 1,
    at: isoInstant(at),
    market,
    version: METHOD_VERSION,
    methodHash: METHOD_HASH,
    settings: METHOD,
    ...(replaces && { replaces }),
  });

/** The instruments of a class that are covered, in parts. */
export function universeLeaves(
  assetClass: AssetClass,
  symbols: readonly string[],
): readonly Leaf[] {
  const parts = Math.max(1, Math.ceil(symbols.length / SYMBOLS_PER_PART));
  return Array.from({ length: parts }, (_, part) =>
    leafOf({
      kind: "universe",
      v: 1,
      assetClass,
      part: part + 1,
      parts,
      symbols: symbols.slice(part * SYMBOLS_PER_PART, (part + 1) * SYMBOLS_PER_PART),
    }),
  );
}

/** What witnesses have seen before a run, so that its time follows from a download. @param note The
 *  checkpoint with its cosignatures. */
export const anchorLeaf = (note: string): Leaf =>
  leafOf({ kind: "anchor", v: 1, checkpoint: note });

/** The evaluation of a class after one session. Instants are in Unix milliseconds. */
export interface RunManifest {
  readonly assetClass: AssetClass;
  /** Close of the session. */
  readonly close: number;
  /** When the run is logged. */
  readonly at: number;
  /** Index of the first leaf of the universe. */
  readonly universe: number;
  /** Number of signal leaves that follow. */
  readonly results: number;
}

/** A run, before its results. */
export const runLeaf = ({ assetClass, close, at, universe, results }: RunManifest): Leaf =>
  leafOf({
    kind: "run",
    v: 1,
    assetClass,
    close: isoInstant(close),
    at: isoInstant(at),
    methodHash: METHOD_HASH,
    universe,
    results,
  });

/** A signal's place in the log. */
export interface SignalPlace {
  /** Index of the run's leaf. */
  readonly run: number;
  /** Close of the session, ISO 8601. */
  readonly close: string;
}

/**
 * What was decided on an instrument. The members stand in the order of RFC 8785, so that the text is
 * canonical without sorting.
 */
export function signalLeaf(
  snapshot: PastSnapshot,
  { run, close }: SignalPlace,
  commitments: Commitments,
): Leaf {
  const { confidence, coverage, score, scoreRaw, scoreSmoothed, signal, status } =
    signalPoint(snapshot);
  return JSON.stringify({
    close,
    confidence,
    coverage,
    factors: commitments.factors,
    inputs: commitments.inputs,
    kind: "signal",
    run,
    score,
    scoreRaw,
    scoreSmoothed,
    signal,
    status,
    symbol: snapshot.instrument.symbol,
    v: 1,
  });
}

/** An instrument of a run whose result is gone: the process ended before it was logged. */
export const failedLeaf = (symbol: string, { run, close }: SignalPlace): Leaf =>
  JSON.stringify({
    close,
    kind: "signal",
    run,
    status: "failed",
    symbol,
    v: 1,
    why: "no_result",
  });

/** SHA-256 hashes, in hexadecimal, of what a leaf does not say; `null` where it is not kept. */
export interface Commitments {
  readonly factors: string | null;
  readonly inputs: string | null;
}

/** What a commitment is opened with: SHA-256 of both texts, one behind the other, is the hash. */
export interface Opening {
  /** 64 hexadecimal digits. */
  readonly salt: string;
  /** Canonical JSON (RFC 8785). */
  readonly text: string;
}

/** The hash that a leaf holds of a text. */
export const commitment = ({ salt, text }: Opening): string => hash("sha256", salt + text, "hex");

/** Factors in alphabetical order, as canonical JSON has them. */
const SORTED_FACTORS: readonly Factor[] = [...FACTORS].sort();

/**
 * Commits to the factors and inputs of signals, so that a leaf proves them later without telling them.
 * Salts are derived from a secret key, so that nothing but the snapshot has to be kept.
 */
export class Committer {
  readonly #key: Uint8Array;
  #run = { name: "", key: "" };

  /** @param key 32 secret bytes. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The commitments of a snapshot. @param origin Name of the log. */
  commit(snapshot: PastSnapshot, origin: string): Commitments {
    const { factors } = snapshot;
    if (factors === undefined) return { factors: null, inputs: null };
    const salt = (what: keyof Commitments) => this.#salt(what, snapshot, origin);
    return {
      factors: commitment({ salt: salt("factors"), text: factorText(factors) }),
      inputs: commitment({ salt: salt("inputs"), text: inputText(factors) }),
    };
  }

  /** What opens the commitment to the factors; `undefined` where they are no longer kept. */
  openFactors(snapshot: PastSnapshot, origin: string): Opening | undefined {
    const { factors } = snapshot;
    if (factors === undefined) return undefined;
    return { salt: this.#salt("factors", snapshot, origin), text: factorText(factors) };
  }

  /** SHA-512/256 with a secret prefix, which is a sound MAC: its state cannot be extended. */
  #salt(what: keyof Commitments, { instrument, at }: PastSnapshot, origin: string): string {
    return hash("sha512-256", `${this.#runKey(`${origin} ${at}`)} ${what} ${instrument.symbol}`);
  }

  #runKey(name: string): string {
    if (this.#run.name !== name) {
      this.#run = { name, key: createHmac("sha256", this.#key).update(name).digest("hex") };
    }
    return this.#run.key;
  }
}

/** Text of what is said of each factor; one call for all of it takes two thirds of the time. */
const textOf = (factors: Snapshot["factors"], of: (result: FactorResult) => object): string =>
  JSON.stringify(Object.fromEntries(SORTED_FACTORS.map((factor) => [factor, of(factors[factor])])));

const factorText = (factors: Snapshot["factors"]): string =>
  textOf(factors, ({ confidence, contribution, status, weight, z }) => ({
    confidence,
    contribution,
    status,
    weight,
    z,
  }));

const inputText = (factors: Snapshot["factors"]): string =>
  textOf(factors, ({ inputs }) => inputs.map(canonicalInput));

const canonicalInput = ({ name, observedAt, unit, value, weight, z }: Input): Input => ({
  name,
  observedAt,
  unit,
  value,
  weight,
  z,
});
