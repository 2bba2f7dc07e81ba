import type { Limits, QuotaName } from "../../limits/limits.ts";
import { refusalOf } from "../../limits/refusal.ts";

/** What is counted, and for whom. */
type Counts = Readonly<Partial<Record<QuotaName, string>>>;

/** Counts one thing that a person does. @throws {Problem} `rate_limited` with `Retry-After`. */
export type Throttle = (counts: Counts) => Promise<void>;

/** Creates the throttle of the pages. */
export function createThrottle(limits: Limits): Throttle {
  return async (counts) => {
    const entries = Object.entries(counts) as [QuotaName, string][];
    const counted = await Promise.all(entries.map(([quota, key]) => limits.count(quota, key)));
    const refusal = refusalOf(counted);
    if (refusal !== undefined) throw refusal;
  };
}
