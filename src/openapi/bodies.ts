import { type Json, schemaOf } from "./components.ts";
import type { HeaderName } from "./headers.ts";
import type { Content } from "./operation.ts";

/** An example of a body. */
export interface BodyExample {
  readonly name: string;
  readonly summary: string;
  readonly value: unknown;
}

/** Direction of the schemas, and examples, of a request or response body. */
interface BodyOptions {
  readonly io: "input" | "output";
  readonly examples: readonly BodyExample[];
}

/** The `content` of a request or response: bodies by media type, with the examples under the
 *  first. */
export function mediaTypes(contents: readonly Content[], { io, examples }: BodyOptions): Json {
  const entries = contents.map(({ mediaType, schema }, place) => [
    mediaType,
    {
      ...(schema && { schema: schemaOf(schema, io) }),
      ...(place === 0 && examples.length > 0 && { examples: examplesObject(examples) }),
    },
  ]);
  return Object.fromEntries(entries);
}

const examplesObject = (examples: readonly BodyExample[]): Json =>
  Object.fromEntries(examples.map(({ name, ...example }) => [name, example]));

/** The `headers` of a response; absent if there are none. */
export function headersObject(names: readonly HeaderName[]): { readonly headers?: Json } {
  if (names.length === 0) return {};
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}
