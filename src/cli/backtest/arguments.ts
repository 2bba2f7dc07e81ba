import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { PACES, type Question, SUBJECTS, usualPace } from "../../backtest/question.ts";
import { UsageError } from "../arguments.ts";

/** What the command line asks for. */
export type BacktestCall =
  | { readonly kind: "help" }
  | (Common & { readonly kind: "run"; readonly question: Question; readonly out: string })
  | (Common & { readonly kind: "explain"; readonly symbol: string; readonly date: string });

interface Common {
  /** Market folder, absolute. */
  readonly market: string;
  /** Whether the result is wanted for a program. */
  readonly isJson: boolean;
}

/** Seed of everything random; a fixed one, so that nobody can look for a lucky one. */
const SEED = 1;

const OPTIONS = {
  market: { type: "string" },
  from: { type: "string" },
  to: { type: "string" },
  symbols: { type: "string" },
  factor: { type: "string" },
  pace: { type: "string" },
  out: { type: "string" },
  explain: { type: "string" },
  json: { type: "boolean" },
  help: { type: "boolean" },
} as const;

const IsoDate = z.iso.date("is not a date such as 2014-12-31");
const Folder = z.string("is missing: name a market folder").min(1, "is empty");
const Names = z
  .string()
  .transform((text) => text.split(",").map((name) => name.trim()))
  .refine((names) => names.every((name) => name !== ""), "needs symbols with commas between them");

const RunOptions = z.object({
  market: Folder,
  from: z.string("is missing: name the first date").pipe(IsoDate),
  to: z.string("is missing: name the last date").pipe(IsoDate),
  symbols: Names.default([]),
  factor: z.enum(SUBJECTS, `is none of ${SUBJECTS.join(", ")}`).default("composite"),
  pace: z.enum(PACES, `is none of ${PACES.join(", ")}`).optional(),
  out: z.string().min(1, "is empty").default("backtest"),
});

const ExplainOptions = z.object({
  market: Folder,
  explain: z.string().min(1, "needs a symbol and a date"),
  date: z.string("needs a symbol and a date").pipe(IsoDate),
});

/**
 * Reads a command line.
 *
 * @param argv Without the program.
 * @param folder That relative file names start from.
 * @throws {UsageError} When something is missing, unknown or impossible.
 */
export function readBacktestCall(argv: readonly string[], folder: string): BacktestCall {
  const { values, positionals } = parsed(argv);
  if (values.help) return { kind: "help" };
  const isJson = values.json === true;
  if (values.explain !== undefined) {
    const [date, ...extra] = positionals;
    refuseExtra(extra);
    const { market, explain: symbol, date: day } = checked(ExplainOptions, { ...values, date });
    return { kind: "explain", market: resolve(folder, market), symbol, date: day, isJson };
  }
  refuseExtra(positionals);
  const { market, out, factor: subject, pace, ...rest } = checked(RunOptions, values);
  if (rest.from > rest.to) throw new UsageError("--from: is after --to.");
  const question = { ...rest, subject, pace: pace ?? usualPace(subject), seed: SEED };
  return {
    kind: "run",
    market: resolve(folder, market),
    question,
    out: resolve(folder, out),
    isJson,
  };
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(/(?<=['.]) To specify|\n/);
    throw new UsageError(sentence);
  }
}

function refuseExtra([extra]: readonly string[]): void {
  if (extra !== undefined) throw new UsageError(`There is nothing to do with ${extra}.`);
}

function checked<T>(schema: z.ZodType<T>, values: object): T {
  const { success, data, error } = schema.safeParse(values);
  if (success) return data;
  const [issue] = error.issues;
  const name = issue?.path[0] === "date" ? "explain" : String(issue?.path[0]);
  throw new UsageError(`--${name}: ${issue?.message}.`);
}
