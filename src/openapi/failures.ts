import type { z } from "zod";
import type { ProblemCode } from "../lib/problem.ts";
import { type BodyExample, headersObject, mediaTypes } from "./bodies.ts";
import type { JsonObject } from "./components.ts";
import { recordedProblems } from "./exchanges.ts";
import { OAuthErrorBody, OAuthProblem, oauthErrorCauses } from "./oauth-errors.ts";
import type { Operation } from "./operation.ts";
import {
  failureHeaders,
  PROBLEM_MEDIA_TYPE,
  ProblemBody,
  problemStatus,
  problemTitle,
} from "./problems.ts";
import { exampleProblem } from "./samples.ts";

/** An OpenAPI response object. */
export interface ResponseObject {
  readonly description: string;
  readonly headers?: JsonObject;
  readonly content?: JsonObject;
}

/** The problems of an operation that have the same HTTP status. */
interface ProblemSet {
  readonly status: string;
  readonly codes: readonly ProblemCode[];
  /** Whether the body also has the members of an OAuth error. */
  readonly isOAuth: boolean;
  /** Whether the operation has no other response with this status. */
  readonly isOnlyResponse: boolean;
}

/** The problems of an operation, grouped by status. */
export function problemSets(operation: Operation): readonly ProblemSet[] {
  const { path, problems = [], answers, errorsByStatus = {} } = operation;
  const others = [...Object.keys(answers), ...Object.keys(errorsByStatus)];
  return Object.entries(Object.groupBy(problems, problemStatus)).map(([status, codes = []]) => ({
    status,
    codes,
    isOAuth: path.startsWith("/oauth/"),
    isOnlyResponse: !others.includes(status),
  }));
}

/**
 * Responses that several operations can refer to: one for each set of problems with a status that
 * no other response of the operation has.
 */
export function commonResponses(operations: readonly Operation[]): JsonObject {
  const sets = operations.flatMap(problemSets).filter(({ isOnlyResponse }) => isOnlyResponse);
  return Object.fromEntries(sets.map((set) => [nameOf(set), problemObject(set)]));
}

/** A JSON reference to a shared response. */
export const responseReference = (set: ProblemSet): JsonObject => ({
  $ref: `#/components/responses/${nameOf(set)}`,
});

const nameOf = ({ codes, isOAuth }: ProblemSet): string =>
  [...(isOAuth ? ["oauth"] : []), ...codes.toSorted()].join(".");

/** The OpenAPI response object for a set of problems. */
export function problemObject({ status, codes, isOAuth }: ProblemSet): ResponseObject {
  const schema = isOAuth ? OAuthProblem : ProblemBody;
  const examples = codes.flatMap(examplesOf);
  return {
    description: codes.map((code) => `\`${code}\`: ${problemTitle(code)}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: PROBLEM_MEDIA_TYPE, schema }], {
      io: "output",
      examples: isOAuth ? examples.map(asOAuthProblem) : examples,
    }),
  };
}

function examplesOf(code: ProblemCode): readonly BodyExample[] {
  const value = recordedProblems[code]?.answer ?? exampleProblem(code);
  return value === undefined ? [] : [{ name: code, summary: problemTitle(code), value }];
}

/** Converts the example of a problem to the format of the OAuth endpoints. */
function asOAuthProblem({ value, ...example }: BodyExample): BodyExample {
  const { instance: _, ...problem } = value as z.output<typeof ProblemBody>;
  const passes = problem.status === 429 || problem.status === 503;
  const error = passes ? "temporarily_unavailable" : "invalid_request";
  return { ...example, value: { error, error_description: problem.detail, ...problem } };
}

/** The OpenAPI response object for a set of OAuth errors. */
export function oauthErrorObject(
  errors: readonly (keyof typeof oauthErrorCauses)[],
  status: string,
): ResponseObject {
  return {
    description: errors.map((error) => `\`${error}\`: ${oauthErrorCauses[error]}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: "application/json", schema: OAuthErrorBody }], {
      io: "output",
      examples: [],
    }),
  };
}
