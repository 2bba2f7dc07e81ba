import type { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { ProviderFault } from "./fault.ts";

/** A provider's HTTP response. */
export interface ProviderResponse {
  /** 200, or another status that the request accepts. */
  readonly status: number;
  /**
   * Value of a header field.
   *
   * @param name Field name in lower case.
   */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** When the response arrived, Unix milliseconds. */
  readonly receivedAt: number;
}

/** Maximum length of the excerpt of an answer that is quoted in a fault, in characters. */
const QUOTED_CHARACTERS = 80;

/**
 * Parses the body as JSON and validates it against a schema.
 *
 * @throws {ProviderFault} `malformed`, with the path of the wrong member.
 */
export const parseJsonBody = <S extends z.ZodType>(
  { body }: ProviderResponse,
  schema: S,
): z.output<S> => parseJsonText(body.toString("utf8"), schema);

/**
 * Parses a text as JSON and validates it against a schema.
 *
 * @throws {ProviderFault} `malformed`, with the path of the wrong member.
 */
export function parseJsonText<S extends z.ZodType>(text: string, schema: S): z.output<S> {
  const json = parseJson(text);
  if (json === undefined) throw new ProviderFault("malformed", `not JSON: ${quoted(text)}`);
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const place = issue?.path.join(".") || "the answer";
  throw new ProviderFault("malformed", `${place}: ${issue?.message ?? "not as documented"}`);
}

/** The beginning of a text from a provider, on one line. */
export function quoted(text: string): string {
  const line = text.slice(0, QUOTED_CHARACTERS).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return JSON.stringify(line.toWellFormed());
}

/**
 * Runs the code that reads data from a provider's server. Any error becomes a fault, since a server
 * may send anything.
 *
 * @param what Description of the data for the operator.
 * @returns The result, or the fault.
 */
export function catchFault<T>(make: () => T, what: string): T | ProviderFault {
  try {
    return make();
  } catch (error) {
    if (error instanceof ProviderFault) return error;
    return new ProviderFault("malformed", `${what} cannot be read: ${quoted(String(error))}`);
  }
}
