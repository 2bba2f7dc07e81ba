import { expect, it } from "vitest";
import { rowsOf, wilson } from "./report.ts";
import { tasks } from "./tasks/index.ts";

it("the confidence interval of a proportion is Wilson's score interval", () => {
  // Newcombe (1998), table I, examples 81 of 263, 15 of 148, 0 of 20 and 1 of 29.
  for (const [solved, played, low, high] of [
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ] as const) {
    const [from, to] = wilson(solved, played);
    expect([from.toFixed(4), to.toFixed(4)]).toEqual([low.toFixed(4), high.toFixed(4)]);
  }
});

it("a row of the report sums the results of its tasks, and counts calls of tools that the reference solution does not use", () => {
  const [task] = tasks.filter(({ kind }) => kind === "single call");
  if (task === undefined) throw new Error("no task");
  const call = { given: {}, isError: false, bytes: 300, tokens: 100, durationMs: 2 };
  const calls = [
    { ...call, tool: "get_signal" },
    { ...call, tool: "get_darkpool", isError: true },
  ];
  const rows = rowsOf([
    { number: 1, task, outcome: { calls, told: [], isSolved: true } },
    { number: 2, task, outcome: { calls: [], told: [], isSolved: false } },
  ]);
  expect(rows.at(-1)).toMatchObject({
    ...{ name: "all", played: 2, solved: 1, calls: 2, errors: 1, wrongTools: 1 },
    ...{ bytes: 600, tokens: 200, durationMs: 4 },
  });
});
