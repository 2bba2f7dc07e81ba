import { short } from "./numbers.ts";

/** Upper or lower bound of the ratio or, without a ratio, of the figure. */
export interface Goal {
  readonly most?: number;
  readonly least?: number;
}

/** One line of the table. */
export interface Row {
  readonly budget: string;
  readonly figure: number;
  readonly unit: string;
  /** The server that it is compared with, measured in the same run. */
  readonly baseline?: { readonly name: string; readonly figure: number };
  /** Median of the ratios of the rounds, figure to baseline. */
  readonly ratio?: number;
  /** Ratio of CPU times, inverted so that more is better, as for throughput. */
  readonly ratioByCpu?: number;
  /** Absent: for comparison only. */
  readonly goal?: Goal;
}

/** How something grows. */
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

/** What a part of the bench measured. */
export interface Part {
  readonly rows?: readonly Row[];
  readonly curves?: readonly Curve[];
  /** Everything that the figures were made from. */
  readonly raw: unknown;
}

/** Whether a goal was reached; `undefined` where there is none. */
export function isMet({ figure, ratio, goal }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  const judged = ratio ?? figure;
  const { most = Number.POSITIVE_INFINITY, least = Number.NEGATIVE_INFINITY } = goal;
  return judged <= most && judged >= least;
}

/** Rows as a table for a terminal. */
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
    `${short(figure)} ${unit}`,
    baseline === undefined ? "" : `${baseline.name}: ${short(baseline.figure)}`,
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

/** A curve as a table for a terminal. */
export const curveTable = ({ title, columns: head, lines }: Curve): string =>
  `${title}\n${columns([head, ...lines.map((line) => line.map(cell))])}`;

const cell = (value: number | string): string => (typeof value === "number" ? short(value) : value);

/** Lines with columns of the same width; all but the first column are short and stand right. */
function columns(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((line) => line[at]?.length ?? 0)),
  );
  const isText = (at: number) => at === 0;
  const pad = (text: string, at: number) =>
    isText(at) ? text.padEnd(widths[at] ?? 0) : text.padStart(widths[at] ?? 0);
  return lines.map((line) => `  ${line.map(pad).join("  ")}`.trimEnd()).join("\n");
}
