import { addressKey } from "./address-key.ts";
import type { Limits } from "./limits.ts";
import { refusalOf } from "./refusal.ts";

/** Stops whoever guesses claim or sign-in codes. */
export interface CodeGuard {
  /**
   * To be asked before a code is looked at: after too many wrong ones not even the right one is.
   *
   * @param ip Network address of the caller.
   * @throws {Problem} `rate_limited`
   */
  enter(ip: string | undefined): Promise<void>;
  /** Notes that a code was wrong. */
  miss(ip: string | undefined): Promise<void>;
}

/** Creates the guard. It goes by the address alone, so that nobody who comes from elsewhere is stopped. */
export function createCodeGuard(limits: Limits): CodeGuard {
  return {
    async enter(ip) {
      const refusal = refusalOf([await limits.look("wrong-code", addressKey(ip))]);
      if (refusal !== undefined) throw refusal;
    },
    async miss(ip) {
      await limits.count("wrong-code", addressKey(ip));
    },
  };
}
