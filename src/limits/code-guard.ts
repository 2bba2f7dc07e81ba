import { addressKey } from "./address-key.ts";
import type { Limits } from "./limits.ts";
import { refusalOf } from "./refusal.ts";

/** Blocks callers that guess claim or sign-in codes. */
export interface CodeGuard {
  /**
   * Call it before a code is checked: after too many wrong codes even the right one is rejected.
   *
   * @param ip Network address of the caller.
   * @throws {Problem} `rate_limited`
   */
  enter(ip: string | undefined): Promise<void>;
  /** Records a wrong code. */
  miss(ip: string | undefined): Promise<void>;
}

/** Creates the guard. It counts by address only, so that callers from other addresses are not blocked. */
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
