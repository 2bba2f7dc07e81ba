import { createHmac, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { isoInstant } from "../answers/common.ts";
import { signalPoint } from "../answers/signal.ts";
import { FACTORS, type Factor } from "../factors/reading.ts";
import type { AssetClass } from "../market/instrument.ts";
import { METHOD } from "../score/method.ts";
import {
  METHOD_HASH,
  METHOD_VERSION,
  type PastSnapshot,
  type Snapshot,
} from "../score/snapshot.ts";

/** Longest entry of a log in bytes (C2SP tlog-tiles: its length is a uint16). */
export const MAX_ENTRY_BYTES = 65_535;

/** Symbols of one universe leaf: 4,000 of at most 12 bytes fit into an entry. */
const SYMBOLS_PER_PART = 4_000;

/** The text of a leaf: canonical JSON (RFC 8785). */
export type Leaf = string;

const leafOf = (content: object): Leaf => canonicalize(content) as string;

/** The method, before its first use. @param at When it is logged, Unix milliseconds. */
export const methodLeaf = (at: number): Leaf =>
  leafOf({
    kind: "method",
    v: 1,
    at: isoInstant(at),
    version: METHOD_VERSION,
    methodHash: METHOD_HASH,
    settings: METHOD,
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
  /** Close of the session, Unix milliseconds. */
  readonly close: number;
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
    close: isoInstant(close),
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
    close: isoInstant(close),
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

/** What a commitment is opened with: SHA-256(salt || text) is the hash in the leaf. */
export interface Opening {
  /** In hexadecimal. */
  readonly salt: string;
  /** Canonical JSON (RFC 8785). */
  readonly text: string;
}

/** Factors in alphabetical order, as canonical JSON has them. */
const SORTED_FACTORS: readonly Factor[] = [...FACTORS].sort();

/** Length of a salt in bytes. */
const SALT_BYTES = 32;

/**
 * Commits to the factors and inputs of signals, so that a leaf proves them later without telling them.
 * Salts are derived from a secret key, so that nothing but the snapshot has to be kept.
 */
export class Committer {
  readonly #key: Uint8Array;

  /** @param key 32 secret bytes. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /** The commitments of a snapshot. @param origin Name of the log. */
  commit(snapshot: PastSnapshot, origin: string): Commitments {
    const { factors } = snapshot;
    if (factors === undefined) return { factors: null, inputs: null };
    const salts = this.#salts(snapshot, origin);
    return {
      factors: commitment(salts.subarray(0, SALT_BYTES), factorText(factors)),
      inputs: commitment(salts.subarray(SALT_BYTES), inputText(factors)),
    };
  }

  /** What opens the commitment to the factors; `undefined` where they are no longer kept. */
  openFactors(snapshot: PastSnapshot, origin: string): Opening | undefined {
    const { factors } = snapshot;
    if (factors === undefined) return undefined;
    const salt = this.#salts(snapshot, origin).subarray(0, SALT_BYTES);
    return { salt: salt.toString("hex"), text: factorText(factors) };
  }

  #salts({ instrument, at }: PastSnapshot, origin: string): Buffer {
    return createHmac("sha512", this.#key).update(`${origin} ${instrument.symbol} ${at}`).digest();
  }
}

/** The hash that a leaf holds of a text. */
export const commitment = (salt: Uint8Array, text: string): string =>
  hash("sha256", Buffer.concat([salt, Buffer.from(text)]), "hex");

const factorText = (factors: Snapshot["factors"]): string =>
  JSON.stringify(
    Object.fromEntries(
      SORTED_FACTORS.map((factor) => {
        const { confidence, contribution, status, weight, z } = factors[factor];
        return [factor, { confidence, contribution, status, weight, z }];
      }),
    ),
  );

const inputText = (factors: Snapshot["factors"]): string =>
  JSON.stringify(
    Object.fromEntries(
      SORTED_FACTORS.map((factor) => [
        factor,
        factors[factor].inputs.map(({ name, observedAt, unit, value, weight, z }) => ({
          name,
          observedAt,
          unit,
          value,
          weight,
          z,
        })),
      ]),
    ),
  );
