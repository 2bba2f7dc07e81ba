import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { UsageError } from "../arguments.ts";

/** Name of the script. */
const SCRIPT = "train";

/** What the command can do. */
export const HELP = `npm run train -- --in labelled.jsonl [--out model.json]

Trains the optional model of the social factor from labelled messages, one JSON object a line:
{"text": "...", "label": "bullish"}, where a label is bullish, bearish or neutral.

  --in <file>    the labelled messages
  --out <file>   where the model goes, model.json without it
  --help         say this

First the model is measured on messages that it has not seen, beside the lexicon and beside the
average of the two, which is what a service with SOCIAL_MODEL=model.json reads.`;

/** What a command line asks for. */
export type TrainingCall =
  | { readonly kind: "help" }
  | { readonly kind: "train"; readonly from: string; readonly to: string };

/**
 * Reads a command line; relative files are found from where npm was called.
 *
 * @throws {UsageError} When an option is unknown, or the messages are not named.
 */
export function readCall(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): TrainingCall {
  const { help, in: from, out: to = "model.json" } = parsed(argv);
  if (help === true) return { kind: "help" };
  if (from === undefined) throw new UsageError("Name the labelled messages with --in.");
  const folder = (env.npm_lifecycle_event === SCRIPT ? env.INIT_CWD : undefined) ?? process.cwd();
  return { kind: "train", from: resolve(folder, from), to: resolve(folder, to) };
}

function parsed(argv: readonly string[]) {
  const options = {
    in: { type: "string" },
    out: { type: "string" },
    help: { type: "boolean" },
  } as const;
  try {
    return parseArgs({ args: [...argv], options }).values;
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(/(?<=['.]) To specify|\n/u);
    throw new UsageError(sentence);
  }
}
