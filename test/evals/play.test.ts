// @module-tag full

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { atFileEnd } from "../support/file-end.ts";
import { temporaryFolder } from "../support/process.ts";
import type { reportOf } from "./report.ts";
import { tasks } from "./tasks/index.ts";

const run = promisify(execFile);
const PROGRAM = fileURLToPath(new URL("play.ts", import.meta.url));
const out = join(temporaryFolder(), "report.json");

const child = spawn(process.execPath, [PROGRAM, "serve", "--port", "0", "--out", out]);
atFileEnd(async () => {
  child.kill("SIGTERM");
  await once(child, "exit");
});
const [line] = await once(createInterface({ input: child.stdout }), "line");
const [, port = ""] = /100 tasks are open on port (\d+)/.exec(String(line)) ?? [];

/** Runs a command. @returns Its standard output and its exit code. */
async function play(...words: readonly string[]): Promise<readonly [said: string, code: number]> {
  try {
    const { stdout } = await run(process.execPath, [PROGRAM, ...words, "--port", port]);
    return [stdout.trimEnd(), 0];
  } catch (error) {
    const { stdout, code } = error as { readonly stdout: string; readonly code: number };
    return [stdout.trimEnd(), code];
  }
}

const numberOf = (question: string) =>
  String(tasks.findIndex((task) => task.question.includes(question)) + 1);

describe("the command line program for tasks", () => {
  it("prints its usage with --help, and without a command", async () => {
    const [usage, code] = await play("--help");
    expect([usage.split("\n")[0], code]).toEqual([
      "Plays the tasks from a command line: whoever reads the output is the player.",
      0,
    ]);
    expect(await play()).toEqual([usage, 2]);
  });

  it("shows only the question and the tools, as an MCP client shows them to a model", async () => {
    const [said] = await play("tools", numberOf("Aldermoor"));
    const [question, blank, shown = "", ...more] = said.split("\n");
    expect(question).toBe(
      "What score does Aldermoor Circuits (ALDER.SIM) have right now? Answer with a whole number alone.",
    );
    expect([blank, more]).toEqual(["", []]);
    const tools = JSON.parse(shown) as readonly object[];
    expect(tools).toHaveLength(11);
    for (const tool of tools) {
      expect(Object.keys(tool)).toEqual(["name", "description", "inputSchema"]);
    }
  });

  it("accepts calls and a single answer, and does not reveal whether the answer is right", async () => {
    const number = numberOf("Aldermoor");
    const [text, code] = await play("call", number, "get_signal", '{"symbol": "ALDER.SIM"}');
    const { score } = JSON.parse(text) as { readonly score: number };
    expect(code).toBe(0);
    expect(await play("call", number, "get_signal", '{"symbol": "AAPL"}')).toEqual([
      expect.stringMatching(/^error: unknown_symbol: /),
      1,
    ]);
    expect(await play("answer", number, String(score))).toEqual(["The answer is kept.", 0]);
    expect(await play("answer", number, "1")).toEqual(["This task has been answered.", 2]);
    const other = numberOf("How many stocks and coins are covered");
    expect(await play("answer", other, "0")).toEqual(["The answer is kept.", 0]);
  });

  it("simulates a person who needs a claim link and a code, and who asks for whichever is missing", async () => {
    const number = numberOf("named Ships");
    const set = ["call", number, "manage_watchlist"] as const;
    const list = '{"action": "set", "watchlist": "Ships", "symbols": ["RIVTO.SIM", "CRANO.SIM"]}';
    const [refusal, code] = await play(...set, list);
    expect([refusal, code]).toEqual([expect.stringMatching(/^error: claim_required: /), 1]);
    const [page = ""] = /http\S+claim\?agent=[\w-]+/.exec(refusal) ?? [];
    expect(await play("person", number, "Please claim me.")).toEqual([
      "Which page shall I open? You named none.",
      0,
    ]);
    expect((await play("person", number, `Please open ${page}.`))[0]).toMatch(/asks for a code/);
    const elsewhere = page.replace(/127\.0\.0\.1:\d+/, "signals.example");
    expect((await play("person", number, `Open ${elsewhere}, code AAAAAAAA.`))[0]).toMatch(
      /did not open it/,
    );
    expect((await play("person", number, `Open ${page}, code AAAAAAAA.`))[0]).toMatch(
      /did not accept the code/,
    );
    expect((await play("person", number, refusal))[0]).toMatch(/^Done: /);
    expect((await play(...set, list))[1]).toBe(0);
    await play("answer", number, "Ships");
  });

  it("explains an invalid task number, an unknown command and a missing server", async () => {
    expect(await play("tools", "101")).toEqual(["TASK is a number from 1 to 100.", 2]);
    expect((await play("win", "1"))[0]).toMatch(/^Commands: serve, tools, call/);
    expect(await play("report", "--port", "1", "--")).toEqual([
      "Nothing listens on port 1: serve first.",
      2,
    ]);
  });

  it("reports the started tasks in a table and in a file, and omits all other tasks", async () => {
    const [table] = await play("report");
    expect(table).toContain("| all | 2 of 3 | 21–94 % |");
    const report = JSON.parse(readFileSync(out, "utf8")) as ReturnType<typeof reportOf>;
    expect(report.tasks.map(({ isSolved }) => isSolved).sort()).toEqual([false, true, true]);
    expect(JSON.parse((await play("report", "--json"))[0])).toEqual(report);
  });
});
