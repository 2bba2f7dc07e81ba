import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { explain } from "../../backtest/explain.ts";
import type { Question } from "../../backtest/question.ts";
import { explanationText } from "../../backtest/report/explanation-text.ts";
import { reportPage } from "../../backtest/report/page.ts";
import { type BacktestResult, runBacktest } from "../../backtest/run-backtest.ts";
import type { Market } from "../../market/market.ts";
import { resolveSymbol } from "../../market/symbols.ts";
import { openMarket } from "../../open-market.ts";
import { UsageError } from "../arguments.ts";
import type { Terminal } from "../progress-line.ts";
import { type BacktestCall, readBacktestCall } from "./arguments.ts";
import { HELP } from "./help.ts";
import { createProgressBar, type ProgressBar } from "./progress-bar.ts";
import { summaryText } from "./summary.ts";
import { logTrials, readTrials } from "./trial-log.ts";

/** Exit codes: done; failed; not understood. A verdict is no failure, whatever it says. */
const GOOD = 0;
const BAD = 1;
const MISUSED = 2;

/** How the program was called. */
interface ProgramCall {
  /** Without the program. */
  readonly argv: readonly string[];
  /** That relative file names start from. */
  readonly folder: string;
  readonly terminal: {
    readonly stdout: Pick<NodeJS.WriteStream, "write">;
    readonly stderr: Terminal;
  };
}

/** Does what a command line says. @returns The exit code. */
export async function runBacktestProgram({ argv, folder, terminal }: ProgramCall): Promise<number> {
  const { stdout, stderr } = terminal;
  const bar = createProgressBar(stderr, () => performance.now());
  try {
    const call = readBacktestCall(argv, folder);
    const said = await answer(call, bar);
    bar.end();
    stdout.write(`${said}\n`);
    return GOOD;
  } catch (error) {
    bar.end();
    stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    if (!(error instanceof UsageError)) return BAD;
    stderr.write("npm run backtest -- --help says more.\n");
    return MISUSED;
  }
}

async function answer(call: BacktestCall, bar: ProgressBar): Promise<string> {
  if (call.kind === "help") return HELP;
  bar.say("reading the market folder");
  const choice = { kind: "files", folder: call.market, asOf: undefined } as const;
  const { market } = await openMarket(choice, {});
  if (call.kind === "explain") {
    const [symbol = ""] = namesIn(market, [call.symbol]);
    const explanation = explain(market, symbol, call.date);
    return call.isJson ? JSON.stringify(explanation) : explanationText(explanation);
  }
  return answerRun({ ...call, market, bar });
}

async function answerRun({
  market,
  question: asked,
  out,
  isJson,
  bar,
}: Omit<BacktestCall & { readonly kind: "run" }, "market"> & {
  readonly market: Market;
  readonly bar: ProgressBar;
}): Promise<string> {
  const question = { ...asked, symbols: namesIn(market, asked.symbols) };
  await mkdir(out, { recursive: true });
  const earlier = await readTrials(out);
  const result = runBacktest({ market, question, earlier, onProgress: bar.show });
  if (result.classes.length === 0) throw new Error(nothingToGrade(market, question));
  const place = join(out, fileName(question));
  const json = JSON.stringify(result);
  await writeFile(`${place}.json`, `${json}\n`);
  await writeFile(`${place}.html`, reportPage(result));
  await logTrials(out, result);
  return isJson ? json : said(result, place);
}

const said = (result: BacktestResult, place: string): string =>
  [summaryText(result), "", `Report:  ${place}.html`, `Figures: ${place}.json`].join("\n");

/** The symbols as the market spells them. @throws {UsageError} for one that it does not have. */
function namesIn(market: Market, names: readonly string[]): readonly string[] {
  const instruments = market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .map(({ instrument }) => instrument);
  return names.map((name) => {
    const resolution = resolveSymbol(instruments, name);
    if (resolution.kind === "found") return resolution.instrument.symbol;
    const candidates = resolution.candidates.map(({ symbol }) => symbol).join(", ");
    const hint = candidates === "" ? "" : ` Did you mean ${candidates}?`;
    throw new UsageError(`There is no instrument ${name} in the market folder.${hint}`);
  });
}

function nothingToGrade(market: Market, { from, to }: Question): string {
  const sessions = market
    .recordsUntil(Number.POSITIVE_INFINITY)
    .flatMap(({ bars }) => [bars[0]?.session ?? "", bars.at(-1)?.session ?? ""])
    .filter((session) => session !== "")
    .sort();
  const [first = "never"] = sessions;
  return `There is nothing to grade from ${from} to ${to}: the folder has bars from ${first} to ${sessions.at(-1) ?? "never"}.`;
}

function fileName({ subject, from, to, symbols, pace }: Question): string {
  const names = symbols.length === 0 ? "all" : symbols.slice(0, 5).join("+");
  return [subject, names, from, to, pace].join("-").replaceAll(/[^\w.+-]/g, "_");
}
