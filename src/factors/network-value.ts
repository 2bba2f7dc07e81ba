import type { OnChainFigures } from "../market/records.ts";
import { mean, zAgainstHistory } from "../statistics/statistics.ts";
import {
  type FactorInput,
  type FactorReading,
  missingReading,
  unweightedInput,
} from "./reading.ts";

/** Constants of the valuation of coins by on-chain figures. */
export const NETWORK_VALUE_RULES = {
  /**
   * Maximum and minimum number of days of a coin's own history with which its ratios are compared.
   */
  windowDays: 730,
  minDays: 365,
  /** Number of days over which the transfer value is averaged to smooth NVT. */
  smoothingDays: 90,
  /** Confidence per available ratio; there are two ratios. */
  confidencePerRatio: 0.5,
  /** Age in market days after which figures are not used. */
  maxAgeDays: 3,
} as const;

/** Tracks the network valuation of one coin. */
export interface NetworkValueTracker {
  /** Adds the figures of a day; days are added oldest first. */
  add(figures: OnChainFigures): void;
  /**
   * Reads z = -0.5 z(ln NVTS) - 0.5 z(ln MVRV), each against the coin's own last 730 days,
   * including the newest. NVTS is the market value divided by the 90-day mean transfer value. If
   * only one ratio is available, z is the negated z of that ratio, with half the confidence.
   *
   * @param at Unix milliseconds.
   * @param dayMs Length of a market day in milliseconds.
   */
  read(at: number, dayMs: number): FactorReading;
}

/**
 * Creates a tracker whose history is still empty. A day on which a ratio was not published is
 * skipped for that ratio.
 */
export function createNetworkValueTracker(): NetworkValueTracker {
  const marketToRealised = createRatio("mvrv");
  const marketToTransfers = createRatio("nvts");
  const transfers: number[] = [];
  return {
    add({ mvrv, nvt, marketCapUsd, availableAt }) {
      marketToRealised.add(mvrv, availableAt);
      if (!isPositive(nvt) || !isPositive(marketCapUsd)) return;
      if (transfers.push(marketCapUsd / nvt) > NETWORK_VALUE_RULES.smoothingDays) transfers.shift();
      if (transfers.length < NETWORK_VALUE_RULES.smoothingDays) return;
      marketToTransfers.add(marketCapUsd / mean(transfers), availableAt);
    },
    read(at, dayMs) {
      const maxAgeMs = NETWORK_VALUE_RULES.maxAgeDays * dayMs;
      const ratios = [marketToTransfers.read(), marketToRealised.read()].filter(
        (ratio) => ratio !== undefined,
      );
      if (ratios.length === 0) return missingReading("not_observed");
      return readRatios(ratios, at, maxAgeMs);
    },
  };
}

/** Newest value of a ratio, and the z of its logarithm against the coin's own history. */
interface RatioReading {
  readonly name: "mvrv" | "nvts";
  readonly value: number;
  readonly z: number | undefined;
  /** When the value became known, Unix milliseconds. */
  readonly asOf: number;
}

function createRatio(name: RatioReading["name"]) {
  const logs: number[] = [];
  let newest: { readonly value: number; readonly asOf: number } | undefined;
  return {
    add(value: number | null, availableAt: number) {
      if (!isPositive(value)) return;
      newest = { value, asOf: availableAt };
      if (logs.push(Math.log(value)) > NETWORK_VALUE_RULES.windowDays) logs.shift();
    },
    read(): RatioReading | undefined {
      if (newest === undefined) return undefined;
      const z = zAgainstHistory(logs.at(-1) as number, logs, NETWORK_VALUE_RULES.minDays);
      return { name, ...newest, z };
    },
  };
}

const isPositive = (value: number | null | undefined): value is number =>
  value !== null && value !== undefined && value > 0 && Number.isFinite(value);

function ratioInput(ratio: RatioReading, used: readonly RatioReading[]): FactorInput {
  const { name, value, z = null, asOf } = ratio;
  const weight = used.includes(ratio) ? -1 / used.length : 0;
  return { ...unweightedInput(name, value, "ratio", asOf), z, weight };
}

/**
 * Combines the ratios that are available at an instant.
 *
 * @param maxAgeMs Milliseconds after which a ratio is no longer used.
 */
function readRatios(ratios: readonly RatioReading[], at: number, maxAgeMs: number): FactorReading {
  const asOf = Math.max(...ratios.map((ratio) => ratio.asOf));
  const used = ratios.filter((ratio) => ratio.z !== undefined && at - ratio.asOf <= maxAgeMs);
  const listInputs = () => ratios.map((ratio) => ratioInput(ratio, used));
  const seen = { asOf, staleAfter: asOf + maxAgeMs, listInputs };
  if (at > seen.staleAfter) return missingReading("stale", seen);
  if (used.length === 0) return missingReading("insufficient_data", seen);
  const confidence = NETWORK_VALUE_RULES.confidencePerRatio * used.length;
  return { z: -mean(used.map(({ z }) => z as number)), confidence, status: "ok", ...seen };
}
