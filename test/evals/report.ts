import type { Outcome } from "./round.ts";
import type { Task } from "./task.ts";

/** A task and its outcome. */
export interface PlayedTask {
  /** Number of the task, from 1. */
  readonly number: number;
  readonly task: Task;
  readonly outcome: Outcome;
}

/** Results of a group of tasks. */
export interface Row {
  readonly name: string;
  readonly played: number;
  readonly solved: number;
  /** Wilson's 95 % confidence interval of the share of solved tasks. */
  readonly interval: readonly [low: number, high: number];
  readonly calls: number;
  readonly errors: number;
  /** Number of calls of tools that the reference solution does not use. */
  readonly wrongTools: number;
  readonly bytes: number;
  readonly tokens: number;
  readonly durationMs: number;
}

/** The 97.5 % quantile of the normal distribution. */
const Z = 1.959964;

/** Wilson's score interval of a proportion (E. B. Wilson, 1927). */
export function wilson(solved: number, played: number): readonly [low: number, high: number] {
  if (played === 0) return [0, 1];
  const share = solved / played;
  const center = share + Z ** 2 / (2 * played);
  const spread = Z * Math.sqrt((share * (1 - share)) / played + Z ** 2 / (4 * played ** 2));
  const scale = 1 + Z ** 2 / played;
  return [(center - spread) / scale, (center + spread) / scale];
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

const toolsOf = ({ solution }: Task): ReadonlySet<string> =>
  new Set(solution.flatMap((step) => ("tell" in step ? [] : [step[0]])));

function rowOf(name: string, all: readonly PlayedTask[]): Row {
  const solved = all.filter(({ outcome }) => outcome.isSolved).length;
  const calls = all.flatMap(({ outcome }) => outcome.calls);
  const wrong = all.flatMap(({ task, outcome }) =>
    outcome.calls.filter(({ tool }) => !toolsOf(task).has(tool)),
  );
  return {
    name,
    played: all.length,
    solved,
    interval: wilson(solved, all.length),
    calls: calls.length,
    errors: calls.filter(({ isError }) => isError).length,
    wrongTools: wrong.length,
    bytes: sum(calls.map(({ bytes }) => bytes)),
    tokens: sum(calls.map(({ tokens }) => tokens)),
    durationMs: sum(calls.map(({ durationMs }) => durationMs)),
  };
}

/**
 * The rows of a report: one per kind of task, one for the everyday questions, and one for all
 * tasks.
 */
export function rowsOf(all: readonly PlayedTask[]): readonly Row[] {
  const kinds = Map.groupBy(all, ({ task }) => task.kind);
  const everyday = all.filter(({ task }) => task.everyday !== undefined);
  return [
    ...Array.from(kinds, ([kind, played]) => rowOf(kind, played)),
    rowOf("everyday", everyday),
    rowOf("all", all),
  ];
}

/** A report as JSON: the rows, and each task with the player's answer and calls. */
export const reportOf = (player: string, all: readonly PlayedTask[]) => ({
  player,
  rows: rowsOf(all),
  tasks: all.map(({ number, task: { kind, everyday, question }, outcome }) => ({
    ...{ number, kind, everyday: everyday ?? null, question },
    ...outcome,
  })),
});

const per = (total: number, count: number): string =>
  count === 0 ? "-" : (total / count).toFixed(total / count < 10 ? 1 : 0);

const percent = (share: number): string => (100 * share).toFixed(0);

const HEAD =
  "| kind | solved | 95 % interval | calls a task | tokens a task | bytes a task | errors | wrong tool | ms a call |\n|---|---|---|---|---|---|---|---|---|";

/** The rows as a Markdown table. */
export function tableOf(all: readonly PlayedTask[]): string {
  const lines = rowsOf(all).map((row) => {
    const [low, high] = row.interval;
    const cells = [
      row.name,
      `${row.solved} of ${row.played}`,
      `${percent(low)}–${percent(high)} %`,
      per(row.calls, row.played),
      per(row.tokens, row.played),
      per(row.bytes, row.played),
      row.errors,
      row.wrongTools,
      per(row.durationMs, row.calls),
    ];
    return `| ${cells.join(" | ")} |`;
  });
  return [HEAD, ...lines].join("\n");
}
