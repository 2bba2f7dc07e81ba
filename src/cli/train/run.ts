import { rename, writeFile } from "node:fs/promises";
import { modelText } from "../../factors/hashed-linear/file.ts";
import { EPOCHS, type LabelledMessage, train } from "../../factors/hashed-linear/training.ts";
import { faultText } from "../../store/copies/fault-text.ts";
import { UsageError } from "../arguments.ts";
import { createProgressLine, type Terminal } from "../progress-line.ts";
import { sizeText } from "../wording.ts";
import { HELP, readCall, type TrainingCall } from "./call.ts";
import { FOLDS, judgeUnseen } from "./folds.ts";
import { readLabelled } from "./labelled-file.ts";
import { qualityText } from "./report.ts";

/** Exit codes: done; failed; not understood. */
const GOOD = 0;
const BAD = 1;
const MISUSED = 2;

/** Starts the order of the messages in training; any number would do. */
const SEED = 20_141_231;

/** How the command was called. */
interface Call {
  /** Without the program. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: { readonly stdout: Terminal; readonly stderr: Terminal };
}

/** Does what a command line says. @returns The exit code. */
export async function runTraining({ argv, env, terminal }: Call): Promise<number> {
  const { stdout, stderr } = terminal;
  try {
    const call = readCall(argv, env);
    stdout.write(`${call.kind === "help" ? HELP : await trainOn(call, stderr)}\n`);
    return GOOD;
  } catch (error) {
    stderr.write(`${faultText(error)}\n`);
    if (!(error instanceof UsageError)) return BAD;
    stderr.write("npm run train -- --help says more.\n");
    return MISUSED;
  }
}

type Order = Extract<TrainingCall, { readonly kind: "train" }>;

/** Measures, trains and writes. @returns What to say about it. */
async function trainOn({ from, to }: Order, stderr: Terminal): Promise<string> {
  const messages = await readLabelled(from);
  const training = { seed: SEED, onEpoch: progressOf(messages, stderr) };
  const judged = judgeUnseen(messages, training);
  const text = modelText(train(messages, training));
  await writeFile(`${to}.new`, text);
  await rename(`${to}.new`, to);
  return [qualityText(judged), "", `${to}: ${sizeText(text.length)}`].join("\n");
}

/** A line that says how far the passes over the messages are; it is gone after the last one. */
function progressOf(messages: readonly LabelledMessage[], stderr: Terminal): () => void {
  const line = createProgressLine(stderr, () => performance.now());
  const all = EPOCHS * (FOLDS + 1);
  let done = 0;
  return () => {
    done++;
    const model = Math.ceil(done / EPOCHS);
    const doing = model > FOLDS ? "training" : `measuring, part ${model} of ${FOLDS}`;
    line.show({ doing, rows: messages.length, fraction: done / all });
    if (done === all) line.end();
  };
}
