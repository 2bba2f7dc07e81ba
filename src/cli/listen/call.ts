import { parseArgs } from "node:util";
import { z } from "zod";
import { isSecret } from "../../alerts/signatures.ts";
import { UsageError } from "../arguments.ts";

/** What the program can do. */
export const HELP = `npm run listen -- [options]

Receives webhooks on this machine: answers the challenge, verifies every delivery and prints it on
a line. A delivery that does not verify is answered with 401 and not read.

  --port <port>      where to listen on 127.0.0.1; 0 picks a free port (4000)
  --secret <secret>  verify with this signing secret, whsec_...; one that is typed in while the
                     program runs is taken too, for it is known only after the registration
  --keys <base url>  verify with the published keys of the service there, too
  --fail <status>    answer events with this status (300 to 599), to see them come again
  --help             say this`;

/** What a command line asks for. */
export type ListenCall =
  | { readonly kind: "help" }
  | ({ readonly kind: "listen" } & z.output<typeof Options>);

const NAMES = {
  port: { type: "string" },
  secret: { type: "string" },
  keys: { type: "string" },
  fail: { type: "string" },
  help: { type: "boolean" },
} as const;

const wholeNumber = (min: number, max: number) => {
  const wrong = `is not a whole number from ${min} to ${max}`;
  const number = z.string().regex(/^\d+$/, wrong).transform(Number);
  return number.refine((value) => value >= min && value <= max, wrong);
};

const Options = z.object({
  port: wholeNumber(0, 65_535).default(4000),
  secret: z.string().refine(isSecret, "is not whsec_ and 24 to 64 bytes in base64").optional(),
  keys: z
    .url({ protocol: /^https?$/, error: "is not an address such as https://signals.example" })
    .optional(),
  fail: wholeNumber(300, 599).optional(),
});

/**
 * Reads a command line.
 *
 * @param argv Without the program.
 * @throws {UsageError} When an option is unknown or not as it should be.
 */
export function readListenCall(argv: readonly string[]): ListenCall {
  const { help, ...values } = parsed(argv);
  if (help === true) return { kind: "help" };
  const { success, data, error } = Options.safeParse(values);
  if (success) return { kind: "listen", ...data };
  const [issue] = error.issues;
  throw new UsageError(`--${String(issue?.path[0])}: ${issue?.message}.`);
}

function parsed(argv: readonly string[]) {
  try {
    return parseArgs({ args: [...argv], options: NAMES }).values;
  } catch (error) {
    const [sentence = ""] = (error as Error).message.split(/(?<=['.]) To specify|\n/);
    throw new UsageError(sentence);
  }
}
