/** Prints lines on the terminal of the test run. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${["", ...lines, ""].join("\n")}\n`);
}

/** A check: a name and a function. */
export interface Check {
  readonly name: string;
  /** @returns What is wrong, one line each; or, in `note`, what is worth telling. */
  readonly run: () => Promise<CheckResult>;
}

/** What a check found. */
export interface CheckResult {
  readonly faults: readonly string[];
  readonly note?: string;
}

/** A check that was made. */
export interface CheckOutcome extends CheckResult {
  readonly name: string;
  readonly seconds: number;
}

/** Makes one check; a failure of the check itself is a fault. */
export async function runCheck({ name, run }: Check): Promise<CheckOutcome> {
  const begun = performance.now();
  const result = await run().catch((error: unknown) => ({ faults: [String(error)] }));
  return { name, ...result, seconds: (performance.now() - begun) / 1000 };
}

/** Prints all checks with their outcome, and how many passed. */
export function printCheckOutcomes(outcomes: readonly CheckOutcome[]): void {
  const failed = outcomes.filter(({ faults }) => faults.length > 0);
  const lines = outcomes.flatMap(({ name, faults, note, seconds }) => [
    `  ${faults.length === 0 ? "ok  " : "FAIL"} ${name}${note ? ` (${note})` : ""} ${seconds.toFixed(1)} s`,
    ...faults.map((fault) => `         ${fault}`),
  ]);
  const total = `checks: ${outcomes.length - failed.length} passed, ${failed.length} failed`;
  printLines([...lines, total]);
}
