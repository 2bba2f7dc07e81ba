import type { Problem } from "../lib/problem.ts";
import type { Limits, Party } from "./limits.ts";
import { rateLimitProblem } from "./rate-limit-problem.ts";

/**
 * Blocks callers that guess secrets, claim codes, or codes that were sent to a mailbox or chat.
 * Only the caller's own number locks out, so that nobody is locked out by others.
 */
export class GuessGuard {
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /**
   * Must be called before a guess is checked: after too many wrong ones, even a correct one is
   * rejected.
   *
   * @throws {Problem} `rate_limited`
   */
  async check(party: Party): Promise<void> {
    const state = await this.#limits.check("guesses", party);
    const refusal = state.level === "caller" ? rateLimitProblem([state]) : undefined;
    if (refusal !== undefined) throw refusal;
  }

  /** Counts a wrong guess. @returns The problem to answer with instead, if a number is used up. */
  async record(party: Party): Promise<Problem | undefined> {
    return rateLimitProblem([await this.#limits.admit("guesses", party)]);
  }
}
