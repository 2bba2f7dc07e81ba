import type { ProblemCode } from "../problem.ts";
import { type Json, schemaOf } from "./components.ts";
import { type Exchange, failures } from "./exchanges.ts";
import type { HeaderName } from "./headers.ts";
import type { Answer, Content, Operation } from "./operation.ts";
import { failureHeaders, PROBLEM_TYPE, Problem, statusOf, titleOf } from "./problems.ts";
import { oauthErrors, Refusal } from "./refusals.ts";
import { sampleOf } from "./samples.ts";

/** Example exchanges of one operation, by name. */
export type Examples = Readonly<Record<string, Exchange>>;

/** An example of a body. */
interface Example {
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

/** What an operation can answer, by status. */
export function responsesOf({ answers, problems, refusals }: Operation, examples: Examples): Json {
  return {
    ...mapped(answers, (answer, status) => answerObject(answer, answersOf(examples, status))),
    ...mapped(refusals ?? {}, refusalObject),
    ...mapped(byStatus(problems ?? []), (codes) => ({
      $ref: `#/components/responses/${nameOf(codes)}`,
    })),
  };
}

/** What is answered to example requests with one status. */
function answersOf(examples: Examples, wanted: string): readonly Example[] {
  return Object.entries(examples).flatMap(([name, { summary, status, answer }]) =>
    answer === undefined || String(status) !== wanted ? [] : [{ name, summary, value: answer }],
  );
}

function answerObject(
  { description, content = [], headers = [] }: Answer,
  examples: readonly Example[],
): Json {
  return {
    description,
    ...headersObject(headers),
    ...(content.length > 0 && { content: mediaTypes(content, { io: "output", examples }) }),
  };
}

function refusalObject(errors: readonly (keyof typeof oauthErrors)[], status: string): Json {
  return {
    description: errors.map((error) => `\`${error}\`: ${oauthErrors[error]}`).join("\n\n"),
    ...headersObject(failureHeaders[Number(status)] ?? []),
    content: mediaTypes([{ mediaType: "application/json", schema: Refusal }], {
      io: "output",
      examples: [],
    }),
  };
}

/** The answers that several operations have in common: one for each set of failures. */
export function commonResponses(operations: readonly Operation[]): Json {
  const sets = operations.flatMap(({ problems = [] }) => Object.values(byStatus(problems)));
  return Object.fromEntries(sets.map((codes) => [nameOf(codes), problemObject(codes)]));
}

function problemObject(codes: readonly ProblemCode[]): Json {
  const [status] = codes.map(statusOf);
  const examples = codes.flatMap((code) => {
    const answer = failures[code]?.answer ?? sampleOf(code);
    return answer === undefined ? [] : [{ name: code, summary: titleOf(code), value: answer }];
  });
  return {
    description: codes.map((code) => `\`${code}\`: ${titleOf(code)}`).join("\n\n"),
    ...headersObject(failureHeaders[status ?? 0] ?? []),
    content: mediaTypes([{ mediaType: PROBLEM_TYPE, schema: Problem }], {
      io: "output",
      examples,
    }),
  };
}

const byStatus = (codes: readonly ProblemCode[]) =>
  Object.groupBy(codes, statusOf) as Readonly<Record<string, readonly ProblemCode[]>>;

const nameOf = (codes: readonly ProblemCode[]): string => codes.toSorted().join(".");

function headersObject(names: readonly HeaderName[]): { readonly headers?: Json } {
  if (names.length === 0) return {};
  const refs = names.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}

function mapped<T>(
  object: Readonly<Record<string, T>>,
  change: (value: T, key: string) => Json,
): Json {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key, change(value, key)]),
  );
}
