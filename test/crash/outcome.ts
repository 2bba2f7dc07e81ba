/** One number that a scenario measured. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  /** For example `ms`; absent for a count. */
  readonly unit?: string;
  /** What the number must not exceed. */
  readonly most?: number;
  /** What the number must reach. */
  readonly least?: number;
}

/** Result of a scenario. */
export interface Outcome {
  readonly title: string;
  readonly measures: readonly Measure[];
  /** Why it could not be run on this machine. */
  readonly skipped?: string;
}

/** Prints that a scenario was skipped. */
export function skip(title: string, reason: string): Outcome {
  process.stderr.write(`\nSKIPPED: ${title}: ${reason}\n\n`);
  return { title, measures: [], skipped: reason };
}

/**
 * What missed its goal, in words.
 *
 * @param slack Times may be this many times their goal, where other work has the processor too.
 */
export function missed({ measures }: Outcome, slack = 1): readonly string[] {
  return measures.filter((measure) => !isMet(measure, slack)).map(line);
}

/** The outcome as lines of a table. */
export function table({ title, measures, skipped }: Outcome): string {
  const lines = measures.map((measure) => `  ${isMet(measure) ? "    " : "MISS"} ${line(measure)}`);
  return [title, ...(skipped === undefined ? lines : [`  SKIPPED: ${skipped}`])].join("\n");
}

function isMet({ value, unit, most, least = 0 }: Measure, slack = 1): boolean {
  const limit = (most ?? Number.POSITIVE_INFINITY) * (unit === "ms" ? slack : 1);
  return value <= limit && value >= least;
}

function line({ name, value, unit = "", most, least }: Measure): string {
  const number = Number.isInteger(value) ? value.toLocaleString("en") : value.toFixed(1);
  const goals = [
    ...(most === undefined ? [] : [`at most ${most.toLocaleString("en")}`]),
    ...(least === undefined ? [] : [`at least ${least.toLocaleString("en")}`]),
  ];
  return `${name.padEnd(52)} ${`${number} ${unit}`.padStart(14)}   ${goals.join(", ")}`.trimEnd();
}
