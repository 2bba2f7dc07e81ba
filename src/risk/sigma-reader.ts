import { countKnown } from "../market/point-in-time.ts";
import type { Bar, RecordList } from "../market/records.ts";
import {
  forecastSigma,
  MODEL_OF_CLASS,
  RISK_RULES,
  type RiskModel,
  type SessionVariances,
  sessionVariances,
} from "./forecast.ts";
import { sigmaAt } from "./outlook.ts";

/** How far the bars of a list have been measured. */
interface Follower {
  /** Number of bars; the last `windowSessions` of them were all measured. */
  read: number;
  /** The model's variances of these bars, oldest first; 2 kB. */
  readonly variances: Float64Array;
}

/**
 * Reads the sigma of many instruments as time goes on: each bar is measured once. Results for
 * earlier instants, and for lists with extreme prices, are also correct, but take a new
 * measurement.
 *
 * @returns The results of `sigmaAt`, for lists that keep their identity as long as they only grow.
 */
export function createSigmaReader(): typeof sigmaAt {
  const followers = new WeakMap<RecordList<Bar>, Follower>();
  return (bars, assetClass, at) => {
    const model = MODEL_OF_CLASS[assetClass];
    const known = countKnown(bars, at);
    const follower = followers.get(bars) ?? {
      read: Math.max(0, known - RISK_RULES.windowSessions),
      variances: new Float64Array(RISK_RULES.windowSessions),
    };
    const next = sessionVariances(bars.slice(follower.read, known));
    const isWhole = followers.has(bars) || next.bars.length === RISK_RULES.windowSessions;
    if (!isWhole || next.bars.length !== known - follower.read) {
      followers.delete(bars);
      return sigmaAt(bars, assetClass, at);
    }
    follow(follower, varianceOf(model, next));
    followers.set(bars, follower);
    const { variances } = follower;
    return forecastSigma(model, { proxy: variances, squaredReturn: variances });
  };
}

const varianceOf = (model: RiskModel, { proxy, squaredReturn }: SessionVariances): Float64Array =>
  model === "blend" ? proxy : squaredReturn;

/** Adds the next variances in place of as many of the oldest. */
function follow(follower: Follower, next: Float64Array): void {
  const { variances } = follower;
  const added = next.subarray(-variances.length);
  variances.copyWithin(0, added.length);
  variances.set(added, variances.length - added.length);
  follower.read += next.length;
}
