import { z } from "zod";
import type { CommandOutcome } from "./command.ts";

/** Request header that names the database a command is for; a server of another one refuses it. */
export const DATABASE_HEADER = "x-database";

/** Status of a server that holds another store: 421 (RFC 9110 section 15.5.20). */
export const OTHER_DATABASE = 421;

/** The address of a database, without credentials. */
export function databaseAddress(databaseUrl: string): string {
  const address = new URL(databaseUrl);
  address.username = "";
  address.password = "";
  address.searchParams.delete("password");
  return address.href;
}

/** One line of the response to a command: progress, and finally the outcome or an error. */
export const AnswerLine = z.union([
  z.strictObject({
    progress: z.strictObject({ doing: z.string(), rows: z.number(), fraction: z.number() }),
  }),
  z.strictObject({
    outcome: z.strictObject({
      isGood: z.boolean(),
      text: z.string(),
      result: z.record(z.string(), z.unknown()),
      notes: z.array(z.string()).readonly(),
    }) satisfies z.ZodType<CommandOutcome>,
  }),
  z.strictObject({
    error: z.strictObject({
      message: z.string(),
      /** Whether the command would run once the operator has confirmed it. */
      needsConfirmation: z.boolean(),
    }),
  }),
]);

/** One line of the response to a command. */
export type AnswerLine = z.infer<typeof AnswerLine>;
