import type { z } from "zod";
import { Problem } from "../../problem.ts";
import { inputWords } from "./input-words.ts";

/** Most issues that a refusal lists, and characters of each: the text may go to a model. */
const MAX_ISSUES = 5;
const MAX_ISSUE_CHARACTERS = 200;

/**
 * Checks untrusted input against a schema.
 *
 * @throws {Problem} `invalid_request` that names every member that is wrong.
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value, { error: inputWords });
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) =>
    (path.length > 0 ? `${path.join(".")}: ${message}` : message)
      .slice(0, MAX_ISSUE_CHARACTERS)
      .replace(/\.$/, ""),
  );
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : "";
  throw new Problem("invalid_request", {
    detail: `${issues.slice(0, MAX_ISSUES).join("; ")}${more}.`,
    next: "Correct what is named and ask again.",
  });
}
