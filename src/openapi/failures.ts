import type { z } from "zod";
import type { ProblemCode } from "../problem.ts";
import { type BodyExample, headersObject, mediaTypes } from "./bodies.ts";
import type { Json } from "./components.ts";
import { recordedProblems } from "./exchanges.ts";
import type { Operation } from "./operation.ts";
import { failureHeaders, PROBLEM_TYPE, Problem, problemStatus, problemTitle } from "./problems.ts";
import { OAuthErrorBody, OAuthProblem, oauthErrors } from "./refusals.ts";
import { exampleProblem } from "./samples.ts";

/** A response with one status. */
export interface ResponseObject {
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Json;
}

/** The problems of an operation with one status. */
interface ProblemSet {
  readonly status: string;
  readonly codes: readonly ProblemCode[];
  /** Whether the body also has the members of an OAuth error. */
  readonly isOAuth: boolean;
  /** Whether the operation has no other response with this status. */
  readonly isOnlyResponse: boolean;
}

/** The problems of an operation, by status. */
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

/** Responses that operations share: one for each set of problems that is the only response of its
 *  status. */
export function commonResponses(operations: readonly Operation[]): Json {
  const sets = operations.flatMap(problemSets).filter(({ isOnlyResponse }) => isOnlyResponse);
  return Object.fromEntries(sets.map((set) => [nameOf(set), problemObject(set)]));
}

/** A reference to a shared response. */
export const responseReference = (set: ProblemSet): Json => ({
  $ref: `#/components/responses/${nameOf(set)}`,
});

const nameOf = ({ codes, isOAuth }: ProblemSet): string =>
  [...(isOAuth ? ["oauth"] : []), ...codes.toSorted()].join(".");

/** The response for a set of problems. */
export function problemObject({ status, codes, isOAuth }: ProblemSet): ResponseObject {
  const schema = isOAuth ? OAuthProblem : Problem;
  const examples = codes.flatMap(examplesOf);
  return {
    description: codes.map((code) => `\`${code}\`: ${problemTitle(code)}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: PROBLEM_TYPE, schema }], {
      io: "output",
      examples: isOAuth ? examples.map(asOAuthProblem) : examples,
    }),
  };
}

function examplesOf(code: ProblemCode): readonly BodyExample[] {
  const value = recordedProblems[code]?.answer ?? exampleProblem(code);
  return value === undefined ? [] : [{ name: code, summary: problemTitle(code), value }];
}

/** The example of a problem in the format of the OAuth endpoints. */
function asOAuthProblem({ value, ...example }: BodyExample): BodyExample {
  const { instance: _, ...problem } = value as z.output<typeof Problem>;
  const passes = problem.status === 429 || problem.status === 503;
  const error = passes ? "temporarily_unavailable" : "invalid_request";
  return { ...example, value: { error, error_description: problem.detail, ...problem } };
}

/** The response for a set of OAuth errors. */
export function oauthErrorObject(
  errors: readonly (keyof typeof oauthErrors)[],
  status: string,
): ResponseObject {
  return {
    description: errors.map((error) => `\`${error}\`: ${oauthErrors[error]}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: "application/json", schema: OAuthErrorBody }], {
      io: "output",
      examples: [],
    }),
  };
}
