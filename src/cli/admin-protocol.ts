import { z } from "zod";
import type { CommandOutcome } from "./command.ts";

/**
 * Request header with the address of the database that a command is for; a server on another
 * database rejects the command.
 */
export const DATABASE_HEADER = "x-database";

/** Response status of a server that has another store open: 421 (RFC 9110 section 15.5.20). */
export const OTHER_DATABASE_STATUS = 421;

/** The URL of a database, without user name and password. */
export function databaseUrlWithoutCredentials(databaseUrl: string): string {
  const address = new URL(databaseUrl);
  address.username = "";
  address.password = "";
  address.searchParams.delete("password");
  return address.href;
}

/**
 * Schema of one line of the response to a command: progress, and finally the outcome or an error.
 */
export const AdminAnswerLine = z.union([
  z.strictObject({
    progress: z.strictObject({ doing: z.string(), rows: z.number(), fraction: z.number() }),
  }),
  z.strictObject({
    outcome: z.strictObject({
      isGood: z.boolean(),
      lines: z.array(z.string()).readonly(),
      result: z.record(z.string(), z.unknown()),
      notes: z.array(z.string()).readonly(),
    }) satisfies z.ZodType<CommandOutcome>,
  }),
  z.strictObject({
    error: z.strictObject({
      message: z.string(),
      /** Whether the command failed only because the operator must confirm it first. */
      needsConfirmation: z.boolean(),
    }),
  }),
]);

/** One line of the response to a command. */
export type AdminAnswerLine = z.infer<typeof AdminAnswerLine>;
