import { countKnownRecords } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { forecastSigma, modelVarianceOf, RISK_MODEL_BY_CLASS, RISK_RULES } from "./forecast.ts";
import { forecastSigmaAt } from "./outlook.ts";

const { windowSessions } = RISK_RULES;

/**
 * Capacity of a buffer of variances; when it is full, the newest `windowSessions` move to the
 * front.
 */
const CAPACITY = windowSessions + 64;

/** Variances of a list of bars, with the position up to which the list was read. */
interface Follower {
  /** Number of bars read; each of the last `windowSessions` has a variance. */
  read: number;
  /** Variances of the last `count` bars as the model uses them, oldest first; 2.5 kB. */
  readonly variances: Float64Array;
  count: number;
}

/**
 * Creates a reader of the sigma of many instruments, with the same results as `forecastSigmaAt`.
 * While time advances it measures each bar once; for earlier instants, and for lists with extreme
 * prices, it measures the bars again.
 *
 * @returns A function like `forecastSigmaAt`; a list of bars must remain the same object while it
 * grows.
 */
export function createSigmaReader(): typeof forecastSigmaAt {
  const followers = new WeakMap<RecordList<Bar>, Follower>();
  return (bars, assetClass, at) => {
    const model = RISK_MODEL_BY_CLASS[assetClass];
    const found = followers.get(bars);
    const known = countKnownRecords(bars, at, found?.read);
    const follower = found ?? {
      read: Math.max(0, known - windowSessions),
      variances: new Float64Array(CAPACITY),
      count: 0,
    };
    const isBehind = known < follower.read;
    while (follower.read < known) {
      const variance = modelVarianceOf(model, bars.at(follower.read) as Bar);
      if (Number.isNaN(variance)) break;
      add(follower, variance);
    }
    if (isBehind || follower.read < known || follower.count < windowSessions) {
      followers.delete(bars);
      return forecastSigmaAt(bars, assetClass, at);
    }
    if (found === undefined) followers.set(bars, follower);
    const { variances, count } = follower;
    return forecastSigma(model, { proxy: variances, squaredReturn: variances }, count);
  };
}

function add(follower: Follower, variance: number): void {
  const { variances, count } = follower;
  if (count === CAPACITY) {
    variances.copyWithin(0, count - windowSessions);
    follower.count = windowSessions;
  }
  variances[follower.count] = variance;
  follower.count += 1;
  follower.read += 1;
}
