import { writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { z } from "zod";
import { createFolder } from "../../lib/create-folder.ts";
import { fingerprint } from "../../lib/fingerprint.ts";
import type { Market } from "../../market/market.ts";
import { resolveSymbol } from "../../market/symbols.ts";
import {
  BACKTEST_SUBJECTS,
  type BacktestQuestion,
  defaultPace,
  GRADING_PACES,
} from "../../research/backtest/question.ts";
import { reportPage, setsPage } from "../../research/backtest/report/page.ts";
import { setsLines, summaryLines } from "../../research/backtest/report/summary.ts";
import { CLASS_WORDS } from "../../research/backtest/report/words.ts";
import { runBacktest } from "../../research/backtest/run-backtest.ts";
import { measureTogether, type SetResult } from "../../research/backtest/together.ts";
import { appendTrials, readTrials } from "../../research/backtest/trial-log.ts";
import { openMarket } from "../../sources/open-market.ts";
import { defineLocalCommand } from "../command.ts";
import { UsageError } from "../command-line.ts";

/**
 * Seed of all random numbers. It is fixed, so that nobody can try seeds until the result is
 * favorable.
 */
const SEED = 1;

const IsoDate = z.iso.date("is not a date such as 2014-12-31");
const Folder = z.string("is missing: name a market folder").min(1, "is empty");
const Symbols = z
  .string()
  .transform((text) => text.split(",").map((name) => name.trim()))
  .refine((names) => names.every((name) => name !== ""), "needs symbols with commas between them");

/** Grades the scores of a market folder by the subsequent returns. */
export const backtestCommand = defineLocalCommand({
  summary: "Grades every score of a market folder by the returns that followed.",
  notes: [
    "Walks the folder forward with the service's own engine. Every variant that is tried goes into",
    "variants.jsonl in the output folder and makes the next verdict stricter. Keep the file:",
    "forgetting failures is how luck turns into a discovery. What was tried before the method was chosen",
    "travels with it and is told in the report.",
    "Several --market, such as --market a --market b, give one report: each set apart, then together.",
    "Stocks are judged by the neutral rank correlation over 5 sessions, the raw one beside it.",
  ],
  options: {
    market: {
      value: "<folder>",
      isRepeatable: true,
      about: "a market folder, as MARKET=files:<folder> has it",
      schema: z.array(Folder, "is missing: name a market folder"),
    },
    from: {
      value: "<date>",
      about: "first session that is graded",
      schema: z.string("is missing: name the first date").pipe(IsoDate),
    },
    to: {
      value: "<date>",
      about: "last session of which anything is used",
      schema: z.string("is missing: name the last date").pipe(IsoDate),
    },
    symbols: {
      value: "<A,B>",
      about: "grade only these (no copies of older ones); one alone: through time",
      schema: Symbols.default([]),
    },
    factor: {
      value: "<name>",
      about: `${BACKTEST_SUBJECTS.join(", ")} (composite)`,
      schema: z
        .enum(BACKTEST_SUBJECTS, `is none of ${BACKTEST_SUBJECTS.join(", ")}`)
        .default("composite"),
    },
    pace: {
      value: "<name>",
      about: "week: last session of each week; session: every one (social, darkpool)",
      schema: z.enum(GRADING_PACES, `is none of ${GRADING_PACES.join(", ")}`).optional(),
    },
    out: {
      value: "<folder>",
      about: "where report, figures and variants.jsonl go (./backtest)",
      schema: z.string().min(1, "is empty").default("backtest"),
    },
  },
  rules: [{ holds: ({ from, to }) => from <= to, option: "from", error: "is after --to" }],

  async run({ market: paths, out, factor, pace, from, to, symbols }, { folder, progress }) {
    const outFolder = resolve(folder, out);
    const places = paths.map((path) => resolve(folder, path));
    if (new Set(places).size < places.length) {
      throw new UsageError("--market: names the same folder twice.");
    }
    createFolder(outFolder);
    const sets: SetResult[] = [];
    for (const place of places) {
      progress.say("reading the market folder");
      const market = await openFolder(place);
      const question: BacktestQuestion = {
        symbols: symbols.map((name) => symbolIn(market, name)),
        subject: factor,
        pace: pace ?? defaultPace(factor),
        seed: SEED,
        from,
        to,
      };
      const result = runBacktest({
        market,
        question,
        earlier: await readTrials(outFolder),
        onProgress: ({ session, scores, fraction }) =>
          progress.show({ doing: session, rows: scores, fraction, unit: "scores" }),
        onMeasuring: (assetClass) =>
          progress.say(`measuring: ${CLASS_WORDS[assetClass].toLowerCase()}`),
      });
      if (result.classes.length === 0) throw new Error(nothingToGrade(market, question));
      await appendTrials(outFolder, result);
      sets.push({ set: basename(place), ...result });
    }
    const report = reportOf(sets);
    const file = join(outFolder, fileName(sets));
    await writeFile(`${file}.json`, `${JSON.stringify(report.result)}\n`);
    await writeFile(`${file}.html`, report.page);
    // The command succeeds whatever the verdict is.
    return {
      isGood: true,
      lines: [...report.lines, "", `Report:  ${file}.html`, `Figures: ${file}.json`],
      result: report.result,
      notes: [],
    };
  },
});

/** What the command prints and writes about one market folder, or about several. */
function reportOf(sets: readonly SetResult[]) {
  const [{ set: _, ...only }, ...others] = sets as [SetResult, ...SetResult[]];
  if (others.length === 0) {
    return { result: { ...only }, page: reportPage(only), lines: summaryLines(only) };
  }
  const several = { sets, together: measureTogether(sets) };
  return { result: several, page: setsPage(several), lines: setsLines(several) };
}

async function openFolder(path: string): Promise<Market> {
  const { market } = await openMarket({ kind: "files", folder: path, asOf: undefined }, {});
  return market;
}

/**
 * The symbol in the market's own spelling.
 * @throws {UsageError} When the market has no such symbol.
 */
function symbolIn(market: Market, name: string): string {
  const instruments = market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .map(({ instrument }) => instrument);
  const resolution = resolveSymbol(instruments, name);
  if (resolution.kind === "found") return resolution.instrument.symbol;
  const candidates = resolution.candidates.map(({ symbol }) => symbol).join(", ");
  const hint = candidates === "" ? "" : ` Did you mean ${candidates}?`;
  throw new UsageError(`There is no instrument ${name} in the market folder.${hint}`);
}

function nothingToGrade(market: Market, { from, to }: BacktestQuestion): string {
  const sessions = market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .flatMap(({ bars }) => [bars.at(0)?.session ?? "", bars.at(-1)?.session ?? ""])
    .filter((session) => session !== "")
    .sort();
  const [first = "never"] = sessions;
  return `There is nothing to grade from ${from} to ${to}: the folder has bars from ${first} to ${sessions.at(-1) ?? "never"}.`;
}

/**
 * Name of a report, without its ending. A run with another method, other data or other symbols has
 * another name, so that it replaces no report.
 */
function fileName(sets: readonly SetResult[]): string {
  const [{ question, methodVersion }] = sets as [SetResult, ...SetResult[]];
  const { subject, from, to, symbols, pace } = question;
  const others = symbols.length > 5 ? [fingerprint(symbols.join()).slice(0, 8)] : [];
  const names = symbols.length === 0 ? "all" : [...symbols.slice(0, 5), ...others].join("+");
  const data = sets.map(({ dataHash }) => dataHash.slice(0, 8)).join("+");
  return [subject, names, from, to, pace, methodVersion, data]
    .join("-")
    .replaceAll(/[^\w.+-]/g, "_");
}
