/**
 * Outcomes of a check, from best to worst. `not_proved`: there is neither a proof nor a
 * contradiction.
 */
const OUTCOMES = ["proved", "not_proved", "failed"] as const;
export type CheckOutcome = (typeof OUTCOMES)[number];

/** A check and its result. */
export interface VerificationCheck {
  readonly name: string;
  readonly outcome: CheckOutcome;
  readonly detail: string;
  /** Index of the log entry that is wrong, if any. */
  readonly entry?: number;
}

/** The worst outcome of several checks. */
export function overallOutcome(checks: readonly VerificationCheck[]): CheckOutcome {
  const rank = ({ outcome }: VerificationCheck) => OUTCOMES.indexOf(outcome);
  return OUTCOMES[Math.max(0, ...checks.map(rank))] as CheckOutcome;
}

/** Why a check failed, with the index of the wrong entry, if any. */
export class CheckFailure extends Error {
  override readonly name = "CheckFailure";
  readonly entry: number | undefined;

  constructor(message: string, entry?: number) {
    super(message);
    this.entry = entry;
  }
}

/** Converts a `CheckFailure` into a failed check; other errors are rethrown. */
export function failedCheck(name: string, error: unknown): VerificationCheck {
  if (!(error instanceof CheckFailure)) throw error;
  const { message, entry } = error;
  return { name, outcome: "failed", detail: message, ...(entry !== undefined && { entry }) };
}
