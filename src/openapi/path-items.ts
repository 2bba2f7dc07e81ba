import type { z } from "zod";
import { mediaTypes } from "./bodies.ts";
import { type JsonObject, jsonSchemaOf } from "./components.ts";
import { type ExampleRequest, recordedHttpExchanges } from "./exchanges.ts";
import type { Operation } from "./operation.ts";
import { type RecordedExamples, responsesOf } from "./responses.ts";
import { securityOf, withScopes } from "./security.ts";

/** The `paths` of the OpenAPI document: operations by path and method. */
export function pathItems(operations: readonly Operation[]): JsonObject {
  const byPath = Object.groupBy(operations, ({ path }) => path);
  const items = Object.entries(byPath).map(([path, some = []]) => {
    const methods = some.map((operation) => [operation.method, operationObject(operation)]);
    return [path, Object.fromEntries(methods)];
  });
  return Object.fromEntries(items);
}

function operationObject(operation: Operation): JsonObject {
  const { id, tag, summary, access, body } = operation;
  const examples = recordedHttpExchanges[id] ?? {};
  const parameters = parametersOf(operation, examples);
  return {
    operationId: id,
    tags: [tag],
    summary,
    description: descriptionOf(operation),
    security: securityOf(access),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: mediaTypes([body], { io: "input", examples: bodyExamples(examples) }),
      },
    }),
    responses: responsesOf(operation, examples),
  };
}

/** The description of an operation, which says what scopes it needs. */
export const descriptionOf = ({
  summary,
  description = `${summary}.`,
  access,
}: Operation): string => withScopes(description, access);

/** The request bodies of recorded examples. */
function bodyExamples(examples: RecordedExamples) {
  return Object.entries(examples).flatMap(
    ([
      name,
      {
        summary,
        request: { body },
      },
    ]) => (body === undefined ? [] : [{ name, summary, value: body }]),
  );
}

/**
 * The parameters of an operation. They show the values of the first example only, because readers
 * would combine values of several examples into one request.
 */
function parametersOf(
  { pathMembers, query, header, exampleQuery = {} }: Operation,
  examples: RecordedExamples,
): readonly JsonObject[] {
  const [first] = Object.values(examples);
  const { request = { query: exampleQuery } }: { readonly request?: ExampleRequest } = first ?? {};
  return [
    ...parametersIn("path", pathMembers, request.path),
    ...parametersIn("query", query, request.query),
    ...parametersIn("header", header, request.header),
  ];
}

/** Converts the members of an object schema to OpenAPI parameters. */
export function parametersIn(
  place: keyof Omit<ExampleRequest, "body">,
  members: z.ZodObject | undefined,
  example: JsonObject = {},
): readonly JsonObject[] {
  if (members === undefined) return [];
  const { properties = {}, required = [] } = jsonSchemaOf(members, "input") as ObjectSchema;
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema,
    ...(example[name] !== undefined && { example: example[name] }),
  }));
}

/** The members of an object's JSON Schema that this module reads. */
interface ObjectSchema {
  readonly properties?: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
}
