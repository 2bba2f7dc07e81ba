/** One number that a scenario measured. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  /** Unit such as `ms`; absent for a count. */
  readonly unit?: string;
  /** Upper limit, inclusive. */
  readonly most?: number;
  /** Lower limit, inclusive. */
  readonly least?: number;
}

/** Result of a scenario. */
export interface Outcome {
  readonly title: string;
  readonly measures: readonly Measure[];
  /** Why the scenario could not run on this machine; absent: it ran. */
  readonly skipped?: string;
}

/** Prints that a scenario is skipped. @returns Its outcome. */
export function skip(title: string, reason: string): Outcome {
  process.stderr.write(`\nSKIPPED: ${title}: ${reason}\n\n`);
  return { title, measures: [], skipped: reason };
}

/**
 * Describes the measures that missed their goal, one per line.
 *
 * @param slack Factor by which times may exceed their goal, for machines with other load.
 */
export function missedMeasures({ measures }: Outcome, slack = 1): readonly string[] {
  return measures.filter((measure) => !isMet(measure, slack)).map(line);
}

/** Formats an outcome as a table. */
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
