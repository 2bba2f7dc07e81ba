import { shortNumberText } from "./numbers.ts";

/** Limit for the ratio or, if the row has no ratio, for the figure. */
export interface Goal {
  readonly most?: number;
  readonly least?: number;
}

/** One row of the result table. */
export interface Row {
  readonly budget: string;
  readonly figure: number;
  readonly unit: string;
  /** The server that the figure is compared with, measured in the same run. */
  readonly baseline?: { readonly name: string; readonly figure: number };
  /** Median of the ratios of figure to baseline, round by round. */
  readonly ratio?: number;
  /** Inverted ratio of CPU times, so that a higher value is better, as with throughput. */
  readonly ratioByCpu?: number;
  /** Absent: the row is only for comparison. */
  readonly goal?: Goal;
}

/** A table that shows how figures grow with a size. */
export interface Curve {
  readonly title: string;
  readonly columns: readonly string[];
  readonly lines: readonly (readonly (number | string)[])[];
}

/** How thorough the bench is. */
export interface Effort {
  /** Whether to run fewer and shorter rounds, for a first look. */
  readonly isQuick: boolean;
}

/** Result of one part of the bench. */
export interface Part {
  readonly rows?: readonly Row[];
  readonly curves?: readonly Curve[];
  /** The raw measurements behind the figures. */
  readonly raw: unknown;
}

/** Whether the goal is reached; `undefined` if the row has no goal. */
export function isMet({ figure, ratio, goal }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  const judged = ratio ?? figure;
  const { most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY } = goal;
  return judged <= most && judged >= least;
}

/** Formats rows as a table for the terminal. */
export function tableOf(rows: readonly Row[]): string {
  const head = ["budget", "figure", "baseline", "ratio", "by CPU", "goal", ""];
  return columns([head, ...rows.map(cells)]);
}

function cells(row: Row): readonly string[] {
  const { budget, figure, unit, baseline, ratio, ratioByCpu, goal } = row;
  const times = (factor: number | undefined) =>
    factor === undefined ? "" : `${factor.toFixed(2)}x`;
  const verdict = { true: "met", false: "MISSED", undefined: "" }[String(isMet(row))] ?? "";
  return [
    budget,
    `${shortNumberText(figure)} ${unit}`,
    baseline === undefined ? "" : `${baseline.name}: ${shortNumberText(baseline.figure)}`,
    times(ratio),
    times(ratioByCpu),
    goal === undefined ? "" : goalOf(goal, ratio === undefined ? ` ${unit}` : "x"),
    verdict,
  ];
}

function goalOf({ most, least }: Goal, unit: string): string {
  const bound = most === undefined ? `at least ${least}` : `at most ${most}`;
  return `${bound}${unit}`;
}

/** Formats a curve as a table for the terminal. */
export const curveTable = ({ title, columns: head, lines }: Curve): string =>
  `${title}\n${columns([head, ...lines.map((line) => line.map(cell))])}`;

const cell = (value: number | string): string =>
  typeof value === "number" ? shortNumberText(value) : value;

/**
 * Formats lines in columns of equal width; the first column is left-aligned, all others are
 * right-aligned.
 */
function columns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0)),
  );
  const isText = (at: number) => at === 0;
  const pad = (text: string, at: number) =>
    isText(at) ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return lines.map((line) => `  ${line.map(pad).join("  ")}`.trimEnd()).join("\n");
}
