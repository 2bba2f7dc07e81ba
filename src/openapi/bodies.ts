import { type JsonObject, jsonSchemaOf } from "./components.ts";
import type { HeaderName } from "./headers.ts";
import type { BodyContent } from "./operation.ts";

/** A named example of a request or response body. */
export interface BodyExample {
  readonly name: string;
  readonly summary: string;
  readonly value: unknown;
}

/**
 * The `content` of a request or response: bodies by media type. Only the first media type gets the
 * examples.
 */
export function mediaTypes(
  contents: readonly BodyContent[],
  { io, examples }: { readonly io: "input" | "output"; readonly examples: readonly BodyExample[] },
): JsonObject {
  const entries = contents.map(({ mediaType, schema }, place) => [
    mediaType,
    {
      ...(schema && { schema: jsonSchemaOf(schema, io) }),
      ...(place === 0 && examples.length > 0 && { examples: examplesObject(examples) }),
    },
  ]);
  return Object.fromEntries(entries);
}

const examplesObject = (examples: readonly BodyExample[]): JsonObject =>
  Object.fromEntries(examples.map(({ name, ...example }) => [name, example]));

/** The `headers` member of a response; absent if there are no headers. */
export function headersObject(names: readonly HeaderName[]): { readonly headers?: JsonObject } {
  if (names.length === 0) return {};
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}
