import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { styleText } from "node:util";
import { tableVersion } from "../../answers/method.ts";
import { type Explanation, explain } from "../../backtest/explain.ts";
import type { Question } from "../../backtest/question.ts";
import { explanationText } from "../../backtest/report/explanation-text.ts";
import { reportPage } from "../../backtest/report/page.ts";
import { CLASS_WORDS } from "../../backtest/report/words.ts";
import { runBacktest } from "../../backtest/run-backtest.ts";
import type { Market } from "../../market/market.ts";
import { resolveSymbol } from "../../market/symbols.ts";
import { openMarket } from "../../open-market.ts";
import { LEXICON } from "../../social-model.ts";
import { UsageError } from "../arguments.ts";
import type { Terminal } from "../progress-line.ts";
import { type BacktestCall, readBacktestCall } from "./arguments.ts";
import { HELP } from "./help.ts";
import { createProgressBar, type ProgressBar } from "./progress-bar.ts";
import { type Paint, summaryText } from "./summary.ts";
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
    readonly stdout: NodeJS.WritableStream;
    readonly stderr: Terminal;
  };
}

/** Does what a command line says. @returns The exit code. */
export async function runBacktestProgram({ argv, folder, terminal }: ProgramCall): Promise<number> {
  const { stdout, stderr } = terminal;
  const bar = createProgressBar(stderr, () => performance.now());
  try {
    const call = readBacktestCall(argv, folder);
    // Where colours are of no use (no terminal, NO_COLOR), there are none.
    const paint: Paint = (styles, text) => styleText([...styles], text, { stream: stdout });
    const said = await answer(call, { bar, paint });
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

/** How progress and results are shown. */
interface Display {
  readonly bar: ProgressBar;
  readonly paint: Paint;
}

async function answer(call: BacktestCall, display: Display): Promise<string> {
  if (call.kind === "help") return HELP;
  display.bar.say("reading the market folder");
  const choice = { kind: "files", folder: call.market, asOf: undefined } as const;
  const { market } = await openMarket(choice, {});
  if (call.kind === "explain") {
    const [symbol = ""] = namesIn(market, [call.symbol]);
    return explained(explain(market, symbol, call.date), call.isJson ? "json" : "text");
  }
  return answerRun({ ...call, ...display, market });
}

/** The table itself is long and published by the service; its names are enough to find it. */
function explained(explanation: Explanation, form: "json" | "text"): string {
  const { tables, ...snapshot } = explanation.snapshot;
  const names = tables && tableVersion(tables, LEXICON.analyser);
  return form === "text"
    ? explanationText(explanation, names)
    : JSON.stringify({ ...explanation, snapshot: { ...snapshot, tables: names ?? null } });
}

async function answerRun({
  market,
  question: asked,
  out,
  isJson,
  bar,
  paint,
}: Omit<BacktestCall & { readonly kind: "run" }, "market"> &
  Display & { readonly market: Market }): Promise<string> {
  const question = { ...asked, symbols: namesIn(market, asked.symbols) };
  await mkdir(out, { recursive: true });
  const earlier = await readTrials(out);
  const result = runBacktest({
    ...{ market, question, earlier, onProgress: bar.show },
    onMeasuring: (assetClass) => bar.say(`measuring: ${CLASS_WORDS[assetClass].toLowerCase()}`),
  });
  if (result.classes.length === 0) throw new Error(nothingToGrade(market, question));
  const place = join(out, fileName(question));
  const json = JSON.stringify(result);
  await writeFile(`${place}.json`, `${json}\n`);
  await writeFile(`${place}.html`, reportPage(result));
  await logTrials(out, result);
  const places = ["", `Report:  ${place}.html`, `Figures: ${place}.json`];
  return isJson ? json : [summaryText(result, paint), ...places].join("\n");
}

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
    .flatMap(({ bars }) => [bars.at(0)?.session ?? "", bars.at(-1)?.session ?? ""])
    .filter((session) => session !== "")
    .sort();
  const [first = "never"] = sessions;
  return `There is nothing to grade from ${from} to ${to}: the folder has bars from ${first} to ${sessions.at(-1) ?? "never"}.`;
}

function fileName({ subject, from, to, symbols, pace }: Question): string {
  const names = symbols.length === 0 ? "all" : symbols.slice(0, 5).join("+");
  return [subject, names, from, to, pace].join("-").replaceAll(/[^\w.+-]/g, "_");
}
