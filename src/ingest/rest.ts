import { quoted } from "../sources/live/answer.ts";
import { ProviderFault } from "../sources/live/fault.ts";
import { pauseMs } from "./pause.ts";

/** Rests between tries of work that fails for reasons of our own. */
export interface Rest {
  /** When the next try is due, Unix milliseconds; in the past when there is no reason to wait. */
  until(): number;
  /** Does the work. @throws What the work throws; the next try is then due after a rest. */
  run(work: () => Promise<number>): Promise<number>;
}

/**
 * Keeps work from being tried over and over while the store does not take what it brings: every
 * try costs a provider a request. In memory, since the store may be what fails.
 */
export function createRest({
  now,
  random,
}: {
  readonly now: () => number;
  readonly random: () => number;
}): Rest {
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
        restMs = pauseMs(unkept(error), failures, random());
        throw error;
      }
    },
  };
}

/** The fault of our own store, as the operator sees it beside those of the provider. */
export const unkept = (error: unknown): ProviderFault =>
  new ProviderFault("unkept", `what came could not be kept: ${quoted(String(error))}`);
