import { createHmac, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { isoInstant } from "../answers/shared-members.ts";
import type { Factor, FactorInput } from "../factors/reading.ts";
import { LIVE_CLAIM, type LiveClaimTerms } from "../grading/live-claim.ts";
import {
  EXCLUSION_REASONS,
  type ExclusionReason,
  type TrackRecordTerms,
} from "../grading/track-record.ts";
import type { AssetClass } from "../market/instrument.ts";
import type { MarketMode } from "../market/market.ts";
import { DEPARTURE } from "../method/departure.ts";
import { runningCandidate, runningMethod } from "../method/running.ts";
import type { RiskTable } from "../risk/table.ts";
import { CANDIDATE } from "../score/candidate.ts";
import { METHOD_CONSTANTS } from "../score/method-constants.ts";
import type { FactorResult, PastSnapshot, Snapshot } from "../score/snapshot.ts";
import { signalMembers } from "./leaf-values.ts";
import { peerMembers } from "./peer-members.ts";

/** Maximum number of symbols in one universe leaf: 4,000 of at most 12 bytes fit into an entry. */
const SYMBOLS_PER_PART = 4_000;

/** The text of a leaf: canonical JSON (RFC 8785). */
export type Leaf = string;

const leafOf = (content: object): Leaf => canonicalize(content) as string;

/**
 * The rules that are fixed before the first signal is logged: how signals are computed and graded.
 */
export interface MethodRegistration {
  readonly market: MarketMode;
  /** Quantiles of the forecast ranges, and how much earnings reports widen the ranges. */
  readonly riskTable: RiskTable;
  readonly record: TrackRecordTerms;
}

const registered = ({ market, riskTable, record }: MethodRegistration) => ({
  market,
  ...runningMethod(),
  settings: { ...runningMethod(), ...METHOD_CONSTANTS },
  candidate: { version: runningCandidate().version, ...CANDIDATE.rule },
  departure: DEPARTURE,
  risk: Object.fromEntries(
    Object.entries(riskTable.classes).map(([assetClass, tables]) => [
      assetClass,
      tables.map(({ horizon, fallPercent, quantiles, reportDays }) => ({
        horizon,
        fallPercent,
        quantiles,
        reportDays,
      })),
    ]),
  ),
  record: {
    ...record,
    exclusions: EXCLUSION_REASONS,
    verdictDates: record.verdictDates.map(isoInstant),
  },
});

/** SHA-256 of the registered rules; when it changes, a new method leaf is logged. */
export const methodRegistrationHash = (registration: MethodRegistration): string =>
  hash("sha256", leafOf(registered(registration)), "hex");

/**
 * Leaf that registers a method before its first use.
 *
 * @param at When the leaf is logged, Unix milliseconds.
 * @param replaces Last checkpoint of the log that the new log replaces.
 */
export const methodLeaf = (
  registration: MethodRegistration,
  at: number,
  replaces?: string | null,
): Leaf =>
  leafOf({
    kind: "method",
    v: 1,
    at: isoInstant(at),
    ...registered(registration),
    ...(replaces && { replaces }),
  });

/**
 * Leaf with the claim about the running method, logged directly after its method leaf.
 *
 * @param at When the leaf is logged, Unix milliseconds.
 */
export function claimLeaf(terms: LiveClaimTerms, at: number): Leaf {
  const { subject, secondary, estimator, verdicts, significance, power } = LIVE_CLAIM;
  return leafOf({
    kind: "claim",
    v: 1,
    at: isoInstant(at),
    methodHash: runningMethod().methodHash,
    subject,
    secondary,
    estimator,
    verdicts,
    significance,
    power,
    ...terms,
    registeredAt: isoInstant(terms.registeredAt),
    looks: terms.looks.map((look) => ({ ...look, at: isoInstant(look.at) })),
  });
}

/** Leaves that list the covered instruments of a class, up to 4,000 each. */
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

/**
 * Leaf with the last checkpoint that witnesses have cosigned, logged before the next run, so that a
 * download of the log proves by when the witnesses had seen the earlier runs.
 *
 * @param note The checkpoint with its cosignatures.
 */
export const anchorLeaf = (note: string): Leaf =>
  leafOf({ kind: "anchor", v: 1, checkpoint: note });

/** The evaluation of an asset class after one session. Instants are in Unix milliseconds. */
interface RunManifest {
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

/** Leaf of a run, logged before its results. */
export const runLeaf = ({ assetClass, close, at, universe, results }: RunManifest): Leaf =>
  leafOf({
    kind: "run",
    v: 1,
    assetClass,
    close: isoInstant(close),
    at: isoInstant(at),
    methodHash: runningMethod().methodHash,
    universe,
    results,
  });

/** The run that a signal belongs to, and the close of its session. */
interface RunReference {
  /** Index of the run's leaf. */
  readonly run: number;
  /** Close of the session, ISO 8601. */
  readonly close: string;
}

/**
 * Leaf with the decision on an instrument. The members are in the order of RFC 8785, so that the
 * text is canonical without sorting. The scores are `null` where the method gives none.
 *
 * @param sigmas Forecast standard deviations of the log return over the horizons of the registered
 * risk table, in its order; the ranges follow from them by its quantiles. `null` without a
 * forecast.
 */
export function signalLeaf(
  snapshot: PastSnapshot & Pick<Snapshot, "candidate">,
  { run, close }: RunReference,
  {
    commitments,
    sigmas,
  }: { readonly commitments: CommitmentHashes; readonly sigmas: readonly number[] | null },
): Leaf {
  const { candidate, status } = snapshot;
  const { parts, percentiles, sector, steadiness } = peerMembers(snapshot);
  const { confidence, coverage, score, scoreRaw, scoreSmoothed, signal } = signalMembers(snapshot);
  return JSON.stringify({
    candidates: { [CANDIDATE.name]: candidate?.at === snapshot.at ? candidate.z : null },
    close,
    confidence,
    coverage,
    factors: commitments.factors,
    inputs: commitments.inputs,
    kind: "signal",
    parts,
    percentiles,
    run,
    score,
    scoreRaw,
    scoreSmoothed,
    sector,
    series: snapshot.series,
    sigmas,
    signal,
    status,
    steadiness,
    symbol: snapshot.instrument.symbol,
    v: 3,
  });
}

/**
 * Leaf of an instrument of a run if the result for the instrument was lost, because the process
 * ended before logging it.
 */
export const failedLeaf = (symbol: string, { run, close }: RunReference): Leaf =>
  JSON.stringify({
    close,
    kind: "signal",
    run,
    status: "failed",
    symbol,
    v: 3,
    why: "no_result",
  });

/** The settlement of one run over one horizon. Instants are in Unix milliseconds. */
interface SettlementManifest {
  readonly assetClass: AssetClass;
  /** Index of the leaf of the run. */
  readonly run: number;
  /** Close of the session of the run. */
  readonly close: number;
  /** Horizon in sessions. */
  readonly horizon: number;
  /** Session closes between which returns are measured; `null` if those sessions are not known. */
  readonly entry: number | null;
  readonly exit: number | null;
  /** When a checkpoint first covered the run, on the market's clock. */
  readonly coveredAt: number;
  /** When the settlement is logged. */
  readonly at: number;
  /**
   * Number of outcome leaves that follow: one for each result of the run, in the order of the
   * results.
   */
  readonly results: number;
  /**
   * Index of the earlier settlement that this settlement replaces because prices were corrected.
   */
  readonly corrects?: number;
}

const instantOrNull = (at: number | null): string | null => (at === null ? null : isoInstant(at));

/** Leaf of a settlement, logged before its outcomes. */
export const settlementLeaf = (manifest: SettlementManifest): Leaf =>
  leafOf({
    kind: "settlement",
    v: 1,
    ...manifest,
    close: isoInstant(manifest.close),
    entry: instantOrNull(manifest.entry),
    exit: instantOrNull(manifest.exit),
    coveredAt: isoInstant(manifest.coveredAt),
    at: isoInstant(manifest.at),
  });

/** Outcome of a logged signal: its returns, or the reason why there are none. */
export type SettlementOutcome =
  | {
      readonly status: "settled";
      /** Total return, as a log return, from the close of `entry` to the close of `exit`. */
      readonly followed: number;
      /**
       * Total return, as a log return, from the close of the statement, where its ranges begin;
       * `null` if unknown.
       */
      readonly fromClose: number | null;
      /** Label of the session of the last price, if that is before the exit. */
      readonly lastPrice: string | null;
    }
  | { readonly status: ExclusionReason };

/** The leaves and the symbol that an outcome belongs to. */
interface OutcomeReference {
  /** Index of the leaf of the settlement. */
  readonly settlement: number;
  /** Index of the leaf of the signal. */
  readonly signal: number;
  readonly symbol: string;
}

/** Leaf of the outcome of a signal, with its members in the order of RFC 8785. */
export const outcomeLeaf = (
  outcome: SettlementOutcome,
  { settlement, signal, symbol }: OutcomeReference,
): Leaf =>
  JSON.stringify({
    ...(outcome.status === "settled" && {
      followed: outcome.followed,
      fromClose: outcome.fromClose,
    }),
    kind: "outcome",
    ...(outcome.status === "settled" && { lastPrice: outcome.lastPrice }),
    settlement,
    signal,
    status: outcome.status,
    symbol,
    v: 1,
  });

/**
 * SHA-256 hashes, in hexadecimal, of data that a leaf commits to without revealing them; `null` if
 * the data are no longer stored.
 */
interface CommitmentHashes {
  readonly factors: string | null;
  readonly inputs: string | null;
}

/** The texts that open a commitment: the SHA-256 of their concatenation is the hash. */
export interface CommitmentOpening {
  /** Salt of 64 hexadecimal digits. */
  readonly salt: string;
  /** The committed text, as canonical JSON (RFC 8785). */
  readonly text: string;
}

/** The hash by which a leaf commits to a text, in hexadecimal. */
export const commitmentHash = ({ salt, text }: CommitmentOpening): string =>
  hash("sha256", salt + text, "hex");

/**
 * Commits to the factors and inputs of signals, so that a leaf can prove them later without
 * revealing them now. Salts are derived from a secret key, so only the snapshot has to be stored.
 */
export class Committer {
  readonly #key: Uint8Array;
  #run = { origin: "", at: Number.NaN, key: "" };

  /** @param key 32 secret bytes. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /**
   * The commitments of a snapshot.
   *
   * @param origin Name of the log.
   */
  commit(snapshot: PastSnapshot, origin: string): CommitmentHashes {
    const { factors } = snapshot;
    if (factors === undefined) return { factors: null, inputs: null };
    const salt = (what: keyof CommitmentHashes) => this.#salt(what, snapshot, origin);
    return {
      factors: commitmentHash({ salt: salt("factors"), text: factorText(factors) }),
      inputs: commitmentHash({ salt: salt("inputs"), text: inputText(factors) }),
    };
  }

  /** The opening of the commitment to the factors; `undefined` if they are no longer stored. */
  openFactors(snapshot: PastSnapshot, origin: string): CommitmentOpening | undefined {
    const { factors } = snapshot;
    if (factors === undefined) return undefined;
    return { salt: this.#salt("factors", snapshot, origin), text: factorText(factors) };
  }

  /**
   * Salt of one commitment: SHA-512/256 over the secret key and the context. This is a sound MAC,
   * because the truncated hash does not allow length extension.
   */
  #salt(what: keyof CommitmentHashes, { instrument, at }: PastSnapshot, origin: string): string {
    return hash("sha512-256", `${this.#runKey(origin, at)} ${what} ${instrument.symbol}`);
  }

  #runKey(origin: string, at: number): string {
    if (this.#run.origin !== origin || this.#run.at !== at) {
      const key = createHmac("sha256", this.#key).update(`${origin} ${at}`).digest("hex");
      this.#run = { origin, at, key };
    }
    return this.#run.key;
  }
}

/**
 * Canonical JSON (RFC 8785) of all factors, in the alphabetical order that RFC 8785 requires. One
 * call for all factors takes two thirds of the time of one call for each.
 */
const textOf = (
  { darkpool, momentum, social, valuation }: Snapshot["factors"],
  of: (result: FactorResult) => object,
): string =>
  JSON.stringify({
    darkpool: of(darkpool),
    momentum: of(momentum),
    social: of(social),
    valuation: of(valuation),
  } satisfies Record<Factor, object>);

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

const canonicalInput = ({
  name,
  observedAt,
  unit,
  value,
  weight,
  z,
}: FactorInput): FactorInput => ({
  name,
  observedAt,
  unit,
  value,
  weight,
  z,
});
