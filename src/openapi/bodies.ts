import { type Json, schemaOf } from "./components.ts";
import type { HeaderName } from "./headers.ts";
import type { Content } from "./operation.ts";

/** An example of a body. */
export interface Example {
  readonly name: string;
  readonly summary: string;
  readonly value: unknown;
}

/** What the bodies of a request or an answer have in common. */
interface Bodies {
  readonly io: "input" | "output";
  readonly examples: readonly Example[];
}

/** Bodies by media type; examples are of the first. */
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

/** Header fields of an answer; none: it has no such member. */
export function headersObject(names: readonly HeaderName[]): { readonly headers?: Json } {
  if (names.length === 0) return {};
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}
