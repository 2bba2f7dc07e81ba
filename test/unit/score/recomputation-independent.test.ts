// @module-tag full
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { runningMethod } from "../../../src/method/running.ts";
import { createSandbox } from "../../../src/sources/sandbox/sandbox.ts";
import { methodAnswer } from "../../../src/tool/method.ts";
import { getFactors } from "../../../tools/get-factors.ts";
import { marketOf, toolContextAt } from "./markets.ts";

const DAY_MS = 60_000;
const START = Math.floor(Date.UTC(2026, 10, 21, 4) / DAY_MS) * DAY_MS;
const script = fileURLToPath(new URL("../../independent/stock_scores.py", import.meta.url));

/** The stocks of a simulated market at an instant, as answers, and the method that they name. */
function answersOf(seed: number, at: number) {
  const sandbox = createSandbox({ seed, sessionSeconds: DAY_MS / 1000 });
  const market = marketOf(sandbox, sandbox.recordsUntil(at), START - 3 * DAY_MS);
  const { context, tables } = toolContextAt(market, at);
  const inUse = { context, tables: tables() };
  const { version } = runningMethod();
  return {
    method: methodAnswer(version, {}, inUse),
    reference: methodAnswer(version, { tables: "reference" }, inUse),
    answers: context.market
      .instruments()
      .filter(({ assetClass }) => assetClass === "stock")
      .map(({ symbol }) => getFactors.run({ symbol, detail: "full" }, context)),
  };
}

/** What the Python program finds for answers; it is given the JSON that a caller receives. */
async function recomputed(given: object): Promise<Readonly<Record<string, number>>> {
  const run = promisify(execFile)("python3", [script]);
  run.child.stdin?.end(JSON.stringify(given));
  return JSON.parse((await run).stdout);
}

const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) {
  process.stderr.write("\nSKIPPED: scores recomputed in Python: there is no python3\n\n");
}

it.skipIf(!hasPython)(
  "a program in another language recomputes every score and contribution to 1e-9",
  async () => {
    let scores = 0;
    // At a close, and half a session later, when new messages and trades have arrived.
    for (const [seed, at] of [
      [1, START],
      [2, START + DAY_MS / 2],
      [3, START],
      [4, START + DAY_MS / 2],
      [5, START + DAY_MS / 2],
      [6, START],
    ] as const) {
      const found = await recomputed(answersOf(seed, at));
      expect(found.scoreError).toBeLessThan(1e-9);
      expect(found.contributionError).toBeLessThan(1e-9);
      expect(found.contributions).toBe(4 * (found.scores ?? 0));
      scores += found.scores ?? 0;
    }
    expect(scores).toBeGreaterThanOrEqual(200);
  },
);
