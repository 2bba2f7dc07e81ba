// @module-tag full

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { tools } from "../../tools/index.ts";
import { judge, openRound, playSolution } from "./round.ts";
import { openSeats } from "./seats.ts";
import { EVERYDAY, type Task } from "./task.ts";
import { tasks } from "./tasks/index.ts";

/**
 * Minimum number of other tasks whose answers a task must reject. Some answers are equal by chance.
 */
const MIN_REFUSED = 85;

const leaving = tasks.filter(({ left }) => left !== undefined);
const [seats, idle] = await (async () => {
  const all = await openSeats([...tasks, ...leaving.map((task) => ({ ...task }))]);
  return [all.slice(0, tasks.length), all.slice(tasks.length)];
})();

/** Answers of the reference solutions, collected while the tests play them. */
const played: { readonly task: Task; readonly text: string; readonly expected: never }[] = [];

describe("the tasks", () => {
  it("consist of a hundred different questions, including each of the fifteen everyday questions once", () => {
    expect(tasks).toHaveLength(100);
    expect(new Set(tasks.map(({ question }) => question)).size).toBe(100);
    const everyday = tasks.flatMap((task) => task.everyday ?? []);
    expect(everyday.sort()).toEqual([...EVERYDAY].sort());
  });

  it("contain each kind of question as often as docs/evals.md says", () => {
    const text = readFileSync(new URL("../../docs/evals.md", import.meta.url), "utf8");
    for (const [kind, { length }] of Map.groupBy(tasks, (task) => task.kind)) {
      expect(text).toMatch(new RegExp(`\\| ${kind}[^|]*\\| ${length} \\|`));
      expect(text).toMatch(new RegExp(`\\| ${kind} \\| \\d+ of ${length} \\|`));
    }
  });

  it("mention no tool in their questions, and use only existing tools in their solutions", () => {
    const names = tools.map(({ name }) => name as string);
    for (const { question, solution } of tasks) {
      expect(names.filter((name) => question.includes(name))).toEqual([]);
      const called = solution.flatMap((step) => ("tell" in step ? [] : step[0]));
      expect(names).toEqual(expect.arrayContaining(called));
    }
  });
});

describe("a task", () => {
  it.each(seats.map((seat, at) => [at + 1, seat.task.kind, seat] as const))(
    "number %i (%s) is solved by its reference solution, and not by an incomplete or altered answer",
    async (_number, _kind, seat) => {
      const { task } = seat;
      const text = await playSolution(openRound(seat));
      const expected = await task.expected(await seat.truth(), await seat.own());
      expect([text, await judge(seat, text)]).toEqual([text, true]);
      const spoiled = task.form.write(task.form.spoil(expected));
      for (const wrong of ["", " ", "none", `${text} ${text}`, spoiled]) {
        expect([wrong, await judge(seat, wrong)]).toEqual([wrong, false]);
      }
      played.push({ task, text, expected: expected as never });
    },
  );

  it("rejects the answers of other tasks, unless they equal its own answer", () => {
    expect(played).toHaveLength(tasks.length);
    for (const { task, text, expected } of played) {
      const others = played.filter((other) => other.task !== task);
      const accepted = others.filter((other) => task.form.fits(other.text, expected));
      expect(others.length - accepted.length, task.question).toBeGreaterThan(MIN_REFUSED);
      const figure = (said: string) => (said.startsWith("[") ? said : Number(said) || said);
      for (const other of accepted) expect(figure(other.text)).toEqual(figure(text));
    }
  });
});

describe("the correct answer without the required change", () => {
  it.each(idle.map((seat) => [seat.task.question, seat] as const))(
    "is rejected: %s",
    async (_question, seat) => {
      const { form, expected } = seat.task;
      const right = await expected(await seat.truth(), await seat.own());
      expect(form.fits(form.write(right), right)).toBe(true);
      expect(await judge(seat, form.write(right))).toBe(false);
    },
  );
});
