import { countKnown } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import { forecastSigma, MODEL_OF_CLASS, RISK_RULES, varianceOf } from "./forecast.ts";
import { sigmaAt } from "./outlook.ts";

const { windowSessions } = RISK_RULES;

/** Variances after which the newest 252 move to the front of a list. */
const CAPACITY = windowSessions + 64;

/** How far the bars of a list have been measured. */
interface Follower {
  /** Number of bars that were read; the last `windowSessions` of them were all measured. */
  read: number;
  /** The variances of the last `count` bars that the model reads, oldest first; 2.5 kB. */
  readonly variances: Float64Array;
  count: number;
}

/**
 * Creates a reader of the sigma of many instruments. It measures each bar once as time advances.
 * For earlier instants, and for lists with extreme prices, it measures again; the results are the
 * same.
 *
 * @returns A function with the results of `sigmaAt`, for lists that remain the same object while
 * they grow.
 */
export function createSigmaReader(): typeof sigmaAt {
  const followers = new WeakMap<RecordList<Bar>, Follower>();
  return (bars, assetClass, at) => {
    const model = MODEL_OF_CLASS[assetClass];
    const found = followers.get(bars);
    const known = countKnown(bars, at, found?.read);
    const follower = found ?? {
      read: Math.max(0, known - windowSessions),
      variances: new Float64Array(CAPACITY),
      count: 0,
    };
    const isBehind = known < follower.read;
    while (follower.read < known) {
      const variance = varianceOf(model, bars.at(follower.read) as Bar);
      if (Number.isNaN(variance)) break;
      add(follower, variance);
    }
    if (isBehind || follower.read < known || follower.count < windowSessions) {
      followers.delete(bars);
      return sigmaAt(bars, assetClass, at);
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
