import { quoted } from "../sources/live/answer.ts";
import { type FaultKind, ProviderFault } from "../sources/live/fault.ts";

const MINUTE_MS = 60_000;

/** How long is waited after a fault, in milliseconds. */
interface Pauses {
  /** After the first one; each further fault in a row doubles it. */
  readonly firstMs: number;
  /** Unless the provider asks for more. */
  readonly longestMs: number;
}

const PAUSES: Readonly<Record<FaultKind, Pauses>> = {
  unreachable: { firstMs: 5_000, longestMs: 30 * MINUTE_MS },
  failing: { firstMs: 5_000, longestMs: 30 * MINUTE_MS },
  limited: { firstMs: 30_000, longestMs: 30 * MINUTE_MS },
  malformed: { firstMs: MINUTE_MS, longestMs: 30 * MINUTE_MS },
  // A key that is refused is mended by a person.
  refused: { firstMs: 5 * MINUTE_MS, longestMs: 30 * MINUTE_MS },
  // So is a clock; what is asked before is for nothing.
  clock: { firstMs: MINUTE_MS, longestMs: 10 * MINUTE_MS },
  // Our own store is back soon, and others wait for it, too.
  unkept: { firstMs: 5_000, longestMs: MINUTE_MS },
};

/** What a provider may ask for at most, and with it the longest pause of all, in milliseconds. */
export const LONGEST_BACKOFF_MS = 24 * 60 * MINUTE_MS;

/**
 * How long a provider is left alone after a fault: exponential, with half of it drawn, so that many
 * instances do not come back at once, and never less than it asks for.
 *
 * @param failures Faults in a row, with this one.
 * @param random A number in [0, 1).
 */
export function backoffMs(fault: ProviderFault, failures: number, random: number): number {
  const { firstMs, longestMs } = PAUSES[fault.kind];
  const full = Math.min(longestMs, firstMs * 2 ** (failures - 1));
  const asked = Math.min(LONGEST_BACKOFF_MS, fault.retryAfterMs ?? 0);
  return Math.max(asked, full * (0.5 + random / 2));
}

/** Rests between tries of work that fails for reasons of our own. */
export interface FailureBackoff {
  /** When the next try is due, Unix milliseconds; in the past when there is no reason to wait. */
  until(): number;
  /** Does the work. @throws What the work throws; the next try is then due after a rest. */
  run(work: () => Promise<number>): Promise<number>;
}

/**
 * Keeps work from being tried over and over while the store does not take what it brings: every
 * try costs a provider a request. In memory, since the store may be what fails.
 */
export function createFailureBackoff({
  now,
  random,
}: {
  readonly now: () => number;
  readonly random: () => number;
}): FailureBackoff {
  let failures = 0;
  let failedAt = 0;
  let restMs = 0;
  return {
    // Before the failure: the clock was set back.
    until: () => (now() < failedAt ? 0 : failedAt + restMs),
    async run(work) {
      try {
        const found = await work();
        failures = 0;
        return found;
      } catch (error) {
        failures += 1;
        failedAt = now();
        restMs = backoffMs(unkept(error), failures, random());
        throw error;
      }
    },
  };
}

/** The fault of our own store, as the operator sees it beside those of the provider. */
export const unkept = (error: unknown): ProviderFault =>
  new ProviderFault("unkept", `what came could not be kept: ${quoted(String(error))}`);
