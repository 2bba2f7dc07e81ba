/** The OpenAPI description, which is the only source of the reference page. */

/** A JSON Schema. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly additionalProperties?: Schema | boolean;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** A parameter of a request. */
export interface DescribedParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Example {
  readonly summary: string;
  readonly value: unknown;
}

/** Schema and examples of a body, by media type. */
type Content = Readonly<
  Record<
    string,
    { readonly schema?: Schema; readonly examples?: Readonly<Record<string, Example>> }
  >
>;

interface ResponseObject {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Content;
}

interface OperationObject {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly DescribedParameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

/** The members of the OpenAPI description that the reference page uses. */
export interface ApiDescription {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: OperationObject }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
  };
}

/** A body of a request or response. */
export interface DescribedBody {
  readonly mediaType: string;
  readonly schema: Schema | undefined;
  /** The first recorded example; `undefined` if there is none. */
  readonly example: Example | undefined;
}

/** A successful response. */
export interface DescribedResponse {
  readonly status: string;
  readonly description: string;
  readonly bodies: readonly DescribedBody[];
}

/** An error response of an operation. */
export interface DescribedFailure {
  readonly status: string;
  /** Problem code, or OAuth error code. */
  readonly code: string;
  readonly meaning: string;
  /** Advice on what to do next, from a recorded example; `undefined` for OAuth errors. */
  readonly next: string | undefined;
}

/** An operation of the API, or an event that webhooks receive. */
export interface DescribedOperation {
  readonly id: string;
  /** HTTP method, in upper case. */
  readonly method: string;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  /** Scopes that the operation requires; `undefined` if it needs no credential. */
  readonly scopes: readonly string[] | undefined;
  readonly parameters: readonly DescribedParameter[];
  readonly body: DescribedBody | undefined;
  readonly answers: readonly DescribedResponse[];
  readonly failures: readonly DescribedFailure[];
}

/** All operations, in the order of the OpenAPI description. */
export const operationsOf = (description: ApiDescription): readonly DescribedOperation[] =>
  Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      described(operation, method, path, description),
    ),
  );

/** The events that webhooks receive; the `path` of each is its event type. */
export const eventsOf = (description: ApiDescription): readonly DescribedOperation[] =>
  Object.entries(description.webhooks).map(([type, { post }]) =>
    described(post, "post", type, description),
  );

function described(
  operation: OperationObject,
  method: string,
  path: string,
  { components }: ApiDescription,
): DescribedOperation {
  const { operationId, tags, summary, requestBody } = operation;
  const responses = Object.entries(operation.responses).map(
    ([status, response]) => [status, resolved(response, components)] as const,
  );
  return {
    id: operationId,
    method: method.toUpperCase(),
    path,
    tag: tags[0] ?? "",
    summary,
    description: operation.description,
    scopes: scopesOf(operation),
    parameters: operation.parameters ?? [],
    body: requestBody && bodiesOf(requestBody.content)[0],
    answers: responses
      .filter(([status]) => Number(status) < 400)
      .map(([status, { description = "", content = {} }]) => ({
        status,
        description,
        bodies: bodiesOf(content),
      })),
    failures: responses
      .filter(([status]) => Number(status) >= 400)
      .flatMap(([status, response]) => failuresOf(status, response)),
  };
}

/**
 * The scopes of the first security alternative that requires scopes; `undefined` for a public
 * operation, empty if no alternative requires a scope.
 */
function scopesOf({ security }: OperationObject): readonly string[] | undefined {
  if (security.length === 0) return undefined;
  return security.flatMap((one) => Object.values(one)).find((scopes) => scopes.length > 0) ?? [];
}

function resolved(
  response: ResponseObject,
  { responses }: ApiDescription["components"],
): ResponseObject {
  const name = response.$ref?.split("/").at(-1);
  return name === undefined ? response : (responses[name] ?? response);
}

const bodiesOf = (content: Content): readonly DescribedBody[] =>
  Object.entries(content).map(([mediaType, { schema, examples = {} }]) => ({
    mediaType,
    schema,
    example: Object.values(examples)[0],
  }));

/** Matches a line with an error code and its meaning in the description of a response. */
const CODE_LINE = /^`(\w+)`: (.*)$/;

/**
 * The errors that are described for one HTTP status. The description of the response lists one
 * error code per line.
 */
function failuresOf(
  status: string,
  { description = "", content = {} }: ResponseObject,
): readonly DescribedFailure[] {
  const examples = Object.assign({}, ...Object.values(content).map((body) => body.examples ?? {}));
  return description.split("\n").flatMap((line) => {
    const [, code, meaning = ""] = CODE_LINE.exec(line) ?? [];
    if (code === undefined) return [];
    const next = (examples[code]?.value as { readonly next?: string } | undefined)?.next;
    return [{ status, code, meaning, next }];
  });
}
