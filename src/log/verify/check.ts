/** Outcomes of a check. `not_proved`: there is neither a proof nor a contradiction. */
const OUTCOMES = ["proved", "not_proved", "failed"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** One thing that was checked. */
export interface Check {
  readonly name: string;
  readonly outcome: Outcome;
  readonly detail: string;
  /** Index of the entry that is wrong. */
  readonly entry?: number;
}

/** The outcome of several checks: the worst one. */
export function outcomeOf(checks: readonly Check[]): Outcome {
  const rank = ({ outcome }: Check) => OUTCOMES.indexOf(outcome);
  return OUTCOMES[Math.max(0, ...checks.map(rank))] as Outcome;
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

/** A failed check; other kinds of errors are rethrown. */
export function failedCheck(name: string, error: unknown): Check {
  if (!(error instanceof CheckFailure)) throw error;
  const { message, entry } = error;
  return { name, outcome: "failed", detail: message, ...(entry !== undefined && { entry }) };
}
