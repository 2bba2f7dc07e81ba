import { ipAddressKey } from "./address-key.ts";
import type { Limits } from "./quotas.ts";
import { rateLimitProblem } from "./rate-limit-problem.ts";

/**
 * Blocks callers that guess claim or sign-in codes. Wrong codes are counted per address, so that
 * callers from other addresses are not blocked.
 */
export class CodeGuessGuard {
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Must be called before a code is checked: after too many wrong codes, even a correct one is
   * rejected.
   *
   * @param ip Network address of the caller.
   * @throws {Problem} `rate_limited`
   */
  async check(ip: string | undefined): Promise<void> {
    const refusal = rateLimitProblem([await this.#limits.peek("wrong-code", ipAddressKey(ip))]);
    if (refusal !== undefined) throw refusal;
  }

  /** Records a wrong code. */
  async recordWrongCode(ip: string | undefined): Promise<void> {
    await this.#limits.count("wrong-code", ipAddressKey(ip));
  }
}
