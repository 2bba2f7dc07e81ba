import { appendFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { decisiveIc } from "./class-results.ts";
import type { BacktestResult } from "./run-backtest.ts";
import type { Trial } from "./trials.ts";

/**
 * File name of the log of tried variants, with one JSON object per line, in the folder of the
 * reports.
 */
const NAME = "variants.jsonl";

const Line = z.looseObject({ variant: z.string(), sharpePerYear: z.number().nullable() });

/**
 * Reads the variants that were tried before; empty if there is no log.
 *
 * @throws {Error} With file and line if the log is invalid, since a verdict that ignores earlier
 * variants would be too favorable.
 */
export async function readTrials(folder: string): Promise<readonly Trial[]> {
  const path = join(folder, NAME);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return "";
    throw error;
  });
  return text.split("\n").flatMap((line, index) => {
    if (line.trim() === "") return [];
    const { success, data } = Line.safeParse(parseJson(line));
    if (!success) throw new Error(`${path}:${index + 1}: this is no line of the log of variants.`);
    return [{ variant: data.variant, sharpePerYear: data.sharpePerYear }];
  });
}

/** Appends all variants of a run with their results. */
export async function appendTrials(folder: string, result: BacktestResult): Promise<void> {
  const lines = result.classes.flatMap(({ trial, verdict, headline, basis, horizons }) => {
    const main = horizons.find(({ horizon }) => horizon === headline);
    const ic = main && decisiveIc(main, basis);
    if (!ic) return [];
    const { mean, t, interval, dates } = ic;
    return [
      `${JSON.stringify({ ...trial, verdict, headline, basis, ic: mean, t, interval, dates })}\n`,
    ];
  });
  await appendFile(join(folder, NAME), lines.join(""));
}
