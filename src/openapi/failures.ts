import type { z } from "zod";
import type { ProblemCode } from "../problem.ts";
import { type Example, headersObject, mediaTypes } from "./bodies.ts";
import type { Json } from "./components.ts";
import { failures } from "./exchanges.ts";
import type { Operation } from "./operation.ts";
import { failureHeaders, PROBLEM_TYPE, Problem, statusOf, titleOf } from "./problems.ts";
import { OAuthProblem, oauthErrors, Refusal } from "./refusals.ts";
import { sampleOf } from "./samples.ts";

/** An answer with one status. */
export interface ResponseObject {
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Json;
}

/** The problems that an operation can have with one status. */
interface ProblemSet {
  readonly status: string;
  readonly codes: readonly ProblemCode[];
  /** Whether they have the members of OAuth as well. */
  readonly isOAuth: boolean;
  /** Whether nothing else comes with that status. */
  readonly isAlone: boolean;
}

/** The problems of an operation, by status. */
export function problemSets(operation: Operation): readonly ProblemSet[] {
  const { path, problems = [], answers, refusals = {} } = operation;
  const others = [...Object.keys(answers), ...Object.keys(refusals)];
  return Object.entries(Object.groupBy(problems, statusOf)).map(([status, codes = []]) => ({
    status,
    codes,
    isOAuth: path.startsWith("/oauth/"),
    isAlone: !others.includes(status),
  }));
}

/** What several operations can refer to: one answer for each set of problems that comes alone. */
export function commonResponses(operations: readonly Operation[]): Json {
  const sets = operations.flatMap(problemSets).filter(({ isAlone }) => isAlone);
  return Object.fromEntries(sets.map((set) => [nameOf(set), problemObject(set)]));
}

/** Refers to one of the common answers. */
export const referTo = (set: ProblemSet): Json => ({
  $ref: `#/components/responses/${nameOf(set)}`,
});

const nameOf = ({ codes, isOAuth }: ProblemSet): string =>
  [...(isOAuth ? ["oauth"] : []), ...codes.toSorted()].join(".");

/** Problems as an answer. */
export function problemObject({ status, codes, isOAuth }: ProblemSet): ResponseObject {
  const schema = isOAuth ? OAuthProblem : Problem;
  const examples = codes.flatMap(examplesOf);
  return {
    description: codes.map((code) => `\`${code}\`: ${titleOf(code)}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: PROBLEM_TYPE, schema }], {
      io: "output",
      examples: isOAuth ? examples.map(inOAuth) : examples,
    }),
  };
}

function examplesOf(code: ProblemCode): readonly Example[] {
  const value = failures[code]?.answer ?? sampleOf(code);
  return value === undefined ? [] : [{ name: code, summary: titleOf(code), value }];
}

/** The same as the endpoints of OAuth say it. */
function inOAuth({ value, ...example }: Example): Example {
  const { instance: _, ...problem } = value as z.output<typeof Problem>;
  const passes = problem.status === 429 || problem.status === 503;
  const error = passes ? "temporarily_unavailable" : "invalid_request";
  return { ...example, value: { error, error_description: problem.detail, ...problem } };
}

/** Errors of OAuth as an answer. */
export function refusalObject(
  errors: readonly (keyof typeof oauthErrors)[],
  status: string,
): ResponseObject {
  return {
    description: errors.map((error) => `\`${error}\`: ${oauthErrors[error]}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: "application/json", schema: Refusal }], {
      io: "output",
      examples: [],
    }),
  };
}
