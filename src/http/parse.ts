import type { z } from "zod";
import { Problem } from "../problem.ts";

/**
 * Checks untrusted input against a schema.
 *
 * @throws {Problem} `invalid_request` that names every member that is wrong.
 */
export function parse<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) =>
    path.length > 0 ? `${path.join(".")}: ${message}` : message,
  );
  throw new Problem("invalid_request", { detail: issues.join("; ") });
}
