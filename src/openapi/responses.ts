import { type BodyExample, headersObject, mediaTypes } from "./bodies.ts";
import type { JsonObject } from "./components.ts";
import type { RecordedHttpExchange } from "./exchanges.ts";
import {
  oauthErrorObject,
  problemObject,
  problemSets,
  type ResponseObject,
  responseReference,
} from "./failures.ts";
import type { Operation, SuccessResponse } from "./operation.ts";

/** Recorded requests of one operation with their responses, by name. */
export type RecordedExamples = Readonly<Record<string, RecordedHttpExchange>>;

type ByStatus = readonly (readonly [status: string, response: ResponseObject])[];

/** The responses of an operation, by status. */
export function responsesOf(operation: Operation, examples: RecordedExamples): JsonObject {
  const { answers, errorsByStatus = {} } = operation;
  const { alone = [], beside = [] } = Object.groupBy(
    problemSets(operation),
    ({ isOnlyResponse }) => (isOnlyResponse ? "alone" : "beside"),
  );
  return {
    ...mergeByStatus([
      ...mapResponses(answers, (answer, status) =>
        answerObject(answer, answersOf(examples, status)),
      ),
      ...mapResponses(errorsByStatus, oauthErrorObject),
      ...beside.map((set) => [set.status, problemObject(set)] as const),
    ]),
    ...Object.fromEntries(alone.map((set) => [set.status, responseReference(set)])),
  };
}

const mapResponses = <T>(
  object: Readonly<Record<string, T>>,
  change: (value: T, status: string) => ResponseObject,
): ByStatus =>
  Object.entries(object).map(([status, value]) => [status, change(value, status)] as const);

/** The recorded responses with one status. */
function answersOf(examples: RecordedExamples, wanted: string): readonly BodyExample[] {
  return Object.entries(examples).flatMap(([name, { summary, status, answer }]) =>
    answer === undefined || String(status) !== wanted ? [] : [{ name, summary, value: answer }],
  );
}

function answerObject(
  { description, content = [], headers = [] }: SuccessResponse,
  examples: readonly BodyExample[],
): ResponseObject {
  return {
    description,
    ...headersObject(headers),
    ...(content.length > 0 && { content: mediaTypes(content, { io: "output", examples }) }),
  };
}

/** Merges responses with the same status, which have different media types. */
function mergeByStatus(parts: ByStatus): Readonly<Record<string, ResponseObject>> {
  const responses: Record<string, ResponseObject> = {};
  for (const [status, response] of parts) {
    const before = responses[status];
    responses[status] = before === undefined ? response : mergeResponses(before, response);
  }
  return responses;
}

const mergeResponses = (one: ResponseObject, other: ResponseObject): ResponseObject => ({
  description: `${one.description}\n\n${other.description}`,
  headers: { ...one.headers, ...other.headers },
  content: { ...one.content, ...other.content },
});
