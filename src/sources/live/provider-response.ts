import type { z } from "zod";
import { parseJson } from "../../lib/json.ts";
import { ProviderFault } from "./fault.ts";

/** Answer of a provider. */
export interface ProviderResponse {
  /** 200, or one of those that the request accepts. */
  readonly status: number;
  /** A header field by its name in lower case. */
  header(name: string): string | undefined;
  readonly body: Buffer;
  /** When it arrived, Unix milliseconds. */
  readonly receivedAt: number;
}

/** Maximum length of the part of an answer that a fault quotes, in characters. */
const QUOTED_CHARACTERS = 80;

/**
 * The answer as JSON, validated against a schema.
 *
 * @throws {ProviderFault} `malformed`, with the path of the wrong member.
 */
export const parseJsonBody = <S extends z.ZodType>(
  { body }: ProviderResponse,
  schema: S,
): z.output<S> => parseJsonText(body.toString("utf8"), schema);

/**
 * A text as JSON, validated against a schema.
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

/** The beginning of what a provider sent, on one line. */
export function quoted(text: string): string {
  const line = text.slice(0, QUOTED_CHARACTERS).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ");
  return JSON.stringify(line.toWellFormed());
}

/**
 * Runs a provider's code on what the provider's server sent. Anything it throws becomes a fault,
 * since a server may send anything.
 *
 * @param what Name of the result, for the operator.
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
