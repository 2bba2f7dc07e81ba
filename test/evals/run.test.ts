// @module-tag full

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { startModelServer } from "../support/model-server.ts";
import { temporaryFolder } from "../support/process.ts";
import { FORMATS } from "./models.ts";
import type { reportOf } from "./report.ts";
import { tasks } from "./tasks/index.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("run.ts", import.meta.url));

const numberOf = (kind: string) => tasks.findIndex((task) => task.kind === kind) + 1;

/**
 * Numbers of four tasks: one needs a single call, one parallel and sequential calls, one a message
 * to the person between two calls, and one is unknown to the simulated model.
 */
const numbers = ["single call", "several calls", "claim", "counting"].map(numberOf);
const unknown = numbers.at(-1);
const known = numbers.slice(0, -1).flatMap((number) => tasks[number - 1] ?? []);

describe.each(FORMATS)("the runner with a model that has the API format %s", (format) => {
  it("gives the model tasks, and reports which of them it solved and how many tokens it read", async () => {
    const { url, key, model } = await startModelServer(format, known);
    const out = join(temporaryFolder(), "report.json");
    const { stdout } = await run(
      process.execPath,
      [PROGRAM, "--format", format, "--tasks", numbers.join(), "--out", out],
      { env: { PATH: process.env.PATH ?? "", EVALS_URL: url, EVALS_KEY: key, EVALS_MODEL: model } },
    );
    expect(stdout).toContain(`4 of 4: task ${unknown} (counting) not solved, 0 calls`);
    expect(stdout).toContain("| all | 3 of 4 | 30–95 % |");
    const report = JSON.parse(readFileSync(out, "utf8")) as ReturnType<typeof reportOf>;
    expect(report.player).toBe("reference");
    expect(report.tasks.map(({ number, isSolved }) => [number, isSolved])).toEqual(
      numbers.map((number) => [number, number !== unknown]),
    );
    const [single, several, claim] = report.tasks;
    expect(single?.calls).toMatchObject([{ tool: "get_signal", isError: false }]);
    expect(several?.calls.length).toBe(known[1]?.solution.length);
    expect(claim?.told).toEqual([expect.stringContaining("/claim?agent=")]);
    expect(claim?.calls.map(({ isError }) => isError)).toEqual([true, false]);
    for (const { calls } of report.tasks) {
      for (const { bytes, tokens } of calls) {
        expect(tokens).toBeGreaterThan(10);
        expect(bytes).toBeGreaterThan(tokens);
      }
    }
  });

  it("skips a task when the request to the model server fails, and prints the failure", async () => {
    const { url, model } = await startModelServer(format, known);
    const env = {
      PATH: process.env.PATH ?? "",
      EVALS_URL: url,
      EVALS_KEY: "wrong",
      EVALS_MODEL: model,
    };
    const failed = run(process.execPath, [PROGRAM, "--format", format, "--tasks", "1"], { env });
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^task 1 failed: .* answers 400: [\s\S]*\| all \| 0 of 0 \|/),
    });
  });
});
