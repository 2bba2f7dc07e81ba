import type { FaultKind, ProviderFault } from "../sources/live/fault.ts";

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
export const LONGEST_PAUSE_MS = 24 * 60 * MINUTE_MS;

/**
 * How long a provider is left alone after a fault: exponential, with half of it drawn, so that many
 * instances do not come back at once, and never less than it asks for.
 *
 * @param failures Faults in a row, with this one.
 * @param random A number in [0, 1).
 */
export function pauseMs(fault: ProviderFault, failures: number, random: number): number {
  const { firstMs, longestMs } = PAUSES[fault.kind];
  const full = Math.min(longestMs, firstMs * 2 ** (failures - 1));
  const asked = Math.min(LONGEST_PAUSE_MS, fault.retryAfterMs ?? 0);
  return Math.max(asked, full * (0.5 + random / 2));
}
