import type { Answer } from "../sources/live/answer.ts";
import { ProviderFault } from "../sources/live/fault.ts";

/** How far the clock of a provider and ours may be apart, in milliseconds. */
const MAX_SKEW_MS = 10 * 60_000;

/**
 * An answer from another time by its `Date` and `Age` (RFC 9110 6.6.1, RFC 9111 5.1) is not taken:
 * with our clock ahead, the days until then would be taken for days without data.
 *
 * @param now Unix milliseconds.
 * @returns `undefined` when the clocks agree, or nothing is said of the time.
 */
export function clockFault(header: Answer["header"], now: number): ProviderFault | undefined {
  const ageMs = Number(header("age") ?? 0) * 1_000;
  const at = Date.parse(header("date") ?? "") + (ageMs || 0);
  if (!(Math.abs(now - at) > MAX_SKEW_MS)) return undefined;
  const text = `its clock says ${header("date")}, ours ${new Date(now).toUTCString()}`;
  return new ProviderFault("clock", `${text}: is the clock of this machine right?`);
}
