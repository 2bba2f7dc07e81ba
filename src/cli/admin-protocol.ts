import { z } from "zod";
import type { Outcome } from "./command.ts";

/** Header of a command that is meant for one database, whatever else a server holds. */
export const DATABASE_HEADER = "x-database";

/** Status of the answer (RFC 9110 section 15.5.20) of a server that holds another store. */
export const OTHER_DATABASE = 421;

/** Names a database without the credentials for it. */
export function databasePlace(databaseUrl: string): string {
  const place = new URL(databaseUrl);
  place.username = "";
  place.password = "";
  place.searchParams.delete("password");
  return place.href;
}

/** One line of what a server answers to a command: how far it is, and at last what came of it. */
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
    }) satisfies z.ZodType<Outcome>,
  }),
  z.strictObject({
    error: z.strictObject({
      message: z.string(),
      /** Whether the command would do it once the operator has agreed. */
      needsConfirmation: z.boolean(),
    }),
  }),
]);

/** One line of what a server answers to a command. */
export type AnswerLine = z.infer<typeof AnswerLine>;
