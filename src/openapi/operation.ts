import type { z } from "zod";
import type { ProblemCode } from "../lib/problem.ts";
import type { RateName } from "../limits/classes.ts";
import type { HeaderName } from "./headers.ts";
import type { OAuthErrorCode } from "./oauth-errors.ts";
import type { Access } from "./security.ts";

/** Groups of operations (OpenAPI tags) with their descriptions, in display order. */
export const operationTags = {
  Market: "Scores, signals, their factors, and off-exchange trading. All operations are read-only.",
  Alerts: "Subscriptions to events, which are sent to a webhook, polled, or streamed.",
  Log: "The log of signals (C2SP tlog-tiles); its entries need `signals:read` outside the sandbox.",
  Access: "Registration, tokens and claims of agents; OAuth 2.0, with members in snake case.",
  Applications: "For people who want access or have a question. No credential is needed.",
  Service: "Health and readiness of the service, and its scoring method.",
  Discovery: "Discovery documents for clients that do not know the service yet.",
  MCP: "The same tools over the Model Context Protocol.",
} as const;

/** Name of an OpenAPI tag. */
export type OperationTag = keyof typeof operationTags;

/** An HTTP method in lower case, as OpenAPI spells it. */
export type HttpMethod = "get" | "post" | "put" | "patch" | "delete";

/** Media type and schema of a request or response body. */
export interface BodyContent {
  readonly mediaType: string;
  /** Schema of the body; absent for a body without a schema. */
  readonly schema?: z.ZodType;
}

/** A successful response. */
export interface SuccessResponse {
  readonly description: string;
  /** Alternative representations of the body; absent for a response without a body. */
  readonly content?: readonly BodyContent[];
  readonly headers?: readonly HeaderName[];
}

/** Describes a JSON body. */
export const jsonContent = <S extends z.ZodType>(schema: S) =>
  ({ mediaType: "application/json", schema }) as const satisfies BodyContent;

/** Describes a successful response with a JSON body. */
export const jsonResponse = <S extends z.ZodType>(
  description: string,
  schema: S,
  headers: readonly HeaderName[] = [],
) => ({ description, content: [jsonContent(schema)], headers }) as const satisfies SuccessResponse;

/** The JSON body of an operation's response 200. */
export type JsonAnswer<O extends Operation> = O["answers"] extends {
  readonly 200: {
    readonly content: readonly [
      { readonly mediaType: "application/json"; readonly schema: infer S extends z.ZodType },
    ];
  };
}
  ? z.input<S>
  : never;

/** OAuth errors of every operation that is rate limited, by status. */
export const TEMPORARY_ERRORS = {
  429: ["temporarily_unavailable"],
  503: ["temporarily_unavailable"],
} as const satisfies Operation["errorsByStatus"];

/** A limit on requests. */
export interface RateLimit {
  readonly name: RateName;
  /**
   * Who the caller is: the address; or the client, as it authenticated or, if the limit counts
   * before that, as the request names it together with the address.
   */
  readonly per: "address" | "client";
}

/**
 * An HTTP operation: a method at a path. The router, the rate limits, CORS and the OpenAPI document
 * are derived from it.
 */
export interface Operation {
  /** Operation id; unique, in snake case. */
  readonly id: string;
  readonly method: HttpMethod;
  /** Path in which `{name}` stands for a variable segment. */
  readonly path: string;
  /** Whether the last variable stands for the rest of the path, including slashes. */
  readonly takesRest?: true;
  readonly tag: OperationTag;
  readonly summary: string;
  readonly description?: string;
  readonly access: Access;
  /** Schemas of the path, query and header parameters. */
  readonly pathMembers?: z.ZodObject;
  readonly query?: z.ZodObject;
  /** Example query, for an operation without a recorded example. */
  readonly exampleQuery?: Readonly<Record<string, string>>;
  readonly header?: z.ZodObject;
  readonly body?: BodyContent;
  /**
   * The limit against which requests count that do not count as `calls` of a credential. Absent if
   * Express serves the operation and its general limit `visits` is enough, and for `/livez` and
   * `/readyz`, which are not limited.
   */
  readonly limit?: RateLimit;
  /**
   * Whether pages of any origin may call the operation (CORS); safe, because no cookie
   * authenticates the caller.
   */
  readonly allowsAnyOrigin?: true;
  /** Successful responses by status. */
  readonly answers: Readonly<Record<number, SuccessResponse>>;
  /** Codes of the problems (RFC 9457) that the operation can return. */
  readonly problems?: readonly ProblemCode[];
  /** OAuth errors (RFC 6749 section 5.2) that the operation can return, by status. */
  readonly errorsByStatus?: Readonly<Record<number, readonly OAuthErrorCode[]>>;
}
