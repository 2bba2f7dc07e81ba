import { addressKey } from "./address-key.ts";
import type { Limits } from "./limits.ts";
import { refusalOf } from "./refusal.ts";

/** Stops callers that guess claim or sign-in codes. */
export interface CodeGuard {
  /**
   * Call it before a code is checked: after too many wrong codes the right one is refused too.
   *
   * @param ip Network address of the caller.
   * @throws {Problem} `rate_limited`
   */
  enter(ip: string | undefined): Promise<void>;
  /** Notes that a code was wrong. */
  miss(ip: string | undefined): Promise<void>;
}

/** Creates the guard. It goes by the address alone, so that callers from other addresses are not stopped. */
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
