import { addressKey } from "./address-key.ts";
import type { Limits } from "./limits.ts";
import { rateLimitProblem } from "./rate-limit-problem.ts";

/** Blocks callers that guess claim or sign-in codes. */
export interface CodeGuard {
  /**
   * Must be called before a code is checked: after too many wrong codes, even a correct one is
   * rejected.
   *
   * @param ip Network address of the caller.
   * @throws {Problem} `rate_limited`
   */
  check(ip: string | undefined): Promise<void>;
  /** Records a wrong code. */
  recordWrongCode(ip: string | undefined): Promise<void>;
}

/** Creates the guard. It counts by address, so that callers from other addresses are not
 *  blocked. */
export function createCodeGuard(limits: Limits): CodeGuard {
  return {
    async check(ip) {
      const refusal = rateLimitProblem([await limits.peek("wrong-code", addressKey(ip))]);
      if (refusal !== undefined) throw refusal;
    },
    async recordWrongCode(ip) {
      await limits.count("wrong-code", addressKey(ip));
    },
  };
}
