/** Prints lines on the terminal of the test run. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${["", ...lines, ""].join("\n")}\n`);
}

/** A check with a name. */
export interface Check {
  readonly name: string;
  /**
   * Runs the check. @returns Its faults, one line each; `note` is printed even if there are none.
   */
  readonly run: () => Promise<CheckResult>;
}

/** Result of a check. */
export interface CheckResult {
  readonly faults: readonly string[];
  readonly note?: string;
}

/** Result of a check, with its name and duration. */
export interface CheckOutcome extends CheckResult {
  readonly name: string;
  readonly seconds: number;
}

/** Runs one check; an exception counts as a fault. */
export async function runCheck({ name, run }: Check): Promise<CheckOutcome> {
  const begun = performance.now();
  const result = await run().catch((error: unknown) => ({ faults: [String(error)] }));
  return { name, ...result, seconds: (performance.now() - begun) / 1000 };
}

/** Prints the result of every check, and the number of passed checks. */
export function printCheckOutcomes(outcomes: readonly CheckOutcome[]): void {
  const failed = outcomes.filter(({ faults }) => faults.length > 0);
  const lines = outcomes.flatMap(({ name, faults, note, seconds }) => [
    `  ${faults.length === 0 ? "ok  " : "FAIL"} ${name}${note ? ` (${note})` : ""} ${seconds.toFixed(1)} s`,
    ...faults.map((fault) => `         ${fault}`),
  ]);
  const total = `checks: ${outcomes.length - failed.length} passed, ${failed.length} failed`;
  printLines([...lines, total]);
}
