import { type Json, schemaOf } from "./components.ts";
import type { HeaderName } from "./headers.ts";
import type { Content } from "./operation.ts";

/** An example of a body. */
export interface Example {
  readonly name: string;
  readonly summary: string;
  readonly value: unknown;
}

/** Direction and examples of the bodies of a request or a response. */
interface Bodies {
  readonly io: "input" | "output";
  readonly examples: readonly Example[];
}

/** Bodies by media type; examples belong to the first. */
export function mediaTypes(contents: readonly Content[], { io, examples }: Bodies): Json {
  const entries = contents.map(({ mediaType, schema }, place) => [
    mediaType,
    {
      ...(schema && { schema: schemaOf(schema, io) }),
      ...(place === 0 && examples.length > 0 && { examples: examplesObject(examples) }),
    },
  ]);
  return Object.fromEntries(entries);
}

const examplesObject = (examples: readonly Example[]): Json =>
  Object.fromEntries(examples.map(({ name, ...example }) => [name, example]));

/** The response headers; absent if there are none. */
export function headersObject(names: readonly HeaderName[]): { readonly headers?: Json } {
  if (names.length === 0) return {};
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}
