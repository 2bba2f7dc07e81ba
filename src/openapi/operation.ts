import type { z } from "zod";
import type { NestedQuota } from "../limits/count-in-networks.ts";
import type { QuotaName } from "../limits/limits.ts";
import type { ProblemCode } from "../problem.ts";
import type { HeaderName } from "./headers.ts";
import type { OAuthError } from "./refusals.ts";
import type { Requirement } from "./security.ts";

/** Groups of operations with what they are about, in the order in which they are shown. */
export const tags = {
  Market: "Scores, signals, their factors, and off-exchange trading. Everything is read only.",
  Alerts: "Subscriptions to events, which are sent to a webhook, polled, or streamed.",
  Access:
    "How agents register, get tokens and are claimed; OAuth 2.0 with its members in snake case.",
  Applications: "For people who want access or have a question. No credential is needed.",
  Service: "How the service itself is.",
  Discovery: "Documents that tell strangers how to use the service.",
  MCP: "The same tools by the Model Context Protocol.",
} as const;

/** Name of a group. */
export type Tag = keyof typeof tags;

/** How OpenAPI writes a method. */
export type Method = "get" | "post" | "put" | "patch" | "delete";

/** What a request or an answer carries. */
export interface Content {
  readonly mediaType: string;
  /** Absent: nothing more can be said of it. */
  readonly schema?: z.ZodType;
}

/** How a request can end well. */
export interface Answer {
  readonly description: string;
  /** The ways in which it can be sent; none: there is no body. */
  readonly content?: readonly Content[];
  readonly headers?: readonly HeaderName[];
}

/** What requests are counted against, beside `visits` or `calls`. */
export type RateLimit =
  | { readonly per: "address" | "client"; readonly quotas: readonly QuotaName[] }
  | {
      /** Address, site, provider and everybody together. */
      readonly per: "network";
      readonly quotas: readonly NestedQuota[];
    };

/** A method that the service answers at a path: the router, the limits and the description of the
 *  interface are made from it. */
export interface Operation {
  /** Unique among all, snake case. */
  readonly id: string;
  readonly method: Method;
  /** With `{name}` for a part that varies. */
  readonly path: string;
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** One of these lets a caller in; none: it is open to everyone. */
  readonly security: readonly Requirement[];
  /** Members that the path, the query and the header have. */
  readonly pathMembers?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly header?: z.ZodObject;
  readonly body?: Content;
  readonly limit?: RateLimit;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Failures that are answered with RFC 9457. */
  readonly problems?: readonly ProblemCode[];
  /** Failures that are answered with RFC 6749 section 5.2, by status. */
  readonly refusals?: Readonly<Record<number, readonly OAuthError[]>>;
}
