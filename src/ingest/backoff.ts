import { ProviderFault, type ProviderFaultKind } from "../sources/live/fault.ts";
import { quoted } from "../sources/live/provider-response.ts";

const MINUTE_MS = 60_000;

/** Pauses after consecutive faults of one kind, in milliseconds. */
interface Pauses {
  /** Pause after the first fault; each further consecutive fault doubles it. */
  readonly firstMs: number;
  /** Upper bound of the pause, unless the provider asks for a longer one. */
  readonly longestMs: number;
}

const PAUSES: Readonly<Record<ProviderFaultKind, Pauses>> = {
  unreachable: { firstMs: 5_000, longestMs: 30 * MINUTE_MS },
  failing: { firstMs: 5_000, longestMs: 30 * MINUTE_MS },
  limited: { firstMs: 30_000, longestMs: 30 * MINUTE_MS },
  malformed: { firstMs: MINUTE_MS, longestMs: 30 * MINUTE_MS },
  // An API key that the provider refuses stays refused until an operator corrects it.
  refused: { firstMs: 5 * MINUTE_MS, longestMs: 30 * MINUTE_MS },
  // Requests are useless until an operator corrects the clock.
  clock: { firstMs: MINUTE_MS, longestMs: 10 * MINUTE_MS },
  // Our own store usually recovers soon.
  unkept: { firstMs: 5_000, longestMs: MINUTE_MS },
};

/**
 * Longest pause that a provider may ask for, and so the upper bound of every pause, in
 * milliseconds.
 */
export const MAX_BACKOFF_MS = 24 * 60 * MINUTE_MS;

/**
 * Pause after a fault: exponential backoff with 50 % jitter, so that many instances do not retry at
 * once, and never less than the provider asks for.
 *
 * @param failures Number of consecutive faults, including this one.
 * @param random A number in [0, 1).
 * @returns Milliseconds.
 */
export function backoffMs(fault: ProviderFault, failures: number, random: number): number {
  const { firstMs, longestMs } = PAUSES[fault.kind];
  const full = Math.min(longestMs, firstMs * 2 ** (failures - 1));
  const requested = Math.min(MAX_BACKOFF_MS, fault.retryAfterMs ?? 0);
  return Math.max(requested, full * (0.5 + random / 2));
}

/** Backoff for work that fails because of our own store. */
interface FailureBackoff {
  /** When the next attempt is due, Unix milliseconds; in the past if there was no failure. */
  until(): number;
  /**
   * Runs the work.
   *
   * @throws The error of the work; the next attempt is then due after a pause.
   */
  run(work: () => Promise<number>): Promise<number>;
}

/**
 * Delays retries while the store rejects results, because every attempt costs a request to a
 * provider. The state is in memory, since the store itself may be failing.
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
  let pauseMs = 0;
  return {
    // A time before the failure means that the clock was set back, which voids the pause.
    until: () => (now() < failedAt ? 0 : failedAt + pauseMs),
    async run(work) {
      try {
        const found = await work();
        failures = 0;
        return found;
      } catch (error) {
        failures += 1;
        failedAt = now();
        pauseMs = backoffMs(storeFailureAsFault(error), failures, random());
        throw error;
      }
    },
  };
}

/**
 * Wraps a failure of our own store as a fault, so that it is shown with the faults of the provider.
 */
export const storeFailureAsFault = (error: unknown): ProviderFault =>
  new ProviderFault("unkept", `what came could not be kept: ${quoted(String(error))}`);
