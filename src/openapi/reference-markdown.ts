import { EventData } from "../answers/event.ts";
import { AnswerOrigin, InstrumentAnswer } from "../answers/shared-members.ts";
import { SERVICE_SUMMARY, type Site } from "../answers/site.ts";
import { paths } from "../lib/paths.ts";
import type { ProblemCode } from "../lib/problem.ts";
import { MarketMode } from "../market/market.ts";
import { AlertAnswer } from "../tool/alert.ts";
import { componentSchemas, type JsonObject, jsonSchemaOf } from "./components.ts";
import { apiDescription } from "./description.ts";
import type { OAuthErrorCode } from "./oauth-errors.ts";
import {
  type Operation,
  type OperationTag,
  operationTags,
  type SuccessResponse,
} from "./operation.ts";
import { allOperations } from "./operations/all-operations.ts";
import type { DocumentRoute } from "./operations/documents.ts";
import { descriptionOf } from "./path-items.ts";
import { BODY_PROBLEMS, PROTECTED_PROBLEMS, problemStatus } from "./problems.ts";
import { typeText } from "./type-text.ts";
import { webhookEventDescriptions } from "./webhooks.ts";

/**
 * A summary of the API reference, as Markdown.
 *
 * @param documents The discovery documents, which are part of the interface.
 */
export function referenceMarkdown(site: Site, documents: readonly DocumentRoute[]): string {
  const operations = allOperations(documents);
  const parts = [
    `# ${site.name}: API reference`,
    `> ${SERVICE_SUMMARY}`,
    `Base URL: ${site.baseUrl}. Every schema and example: ${site.baseUrl}${paths.openapi}`,
    apiDescription(site),
    `A star marks required members, a question mark values that can be null. Operations that need a credential can also fail with ${failureList(byStatus(PROTECTED_PROBLEMS))}; operations with a body with ${failureList(byStatus(BODY_PROBLEMS))}; those under /oauth with 429, 503 ${quoted(OAUTH_TEMPORARY)}.`,
    ...Object.keys(operationTags).map((tag) => group(tag as OperationTag, operations)),
    `## Webhooks\n\n${webhookEventDescriptions.map(({ type, summary }) => `- \`${type}\`: ${summary}`).join("\n")}`,
    `## Members\n\n${memberLines({ ...shared(), ...componentSchemas() }).join("\n")}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Groups in which each operation gets only one line. */
const LISTED: readonly OperationTag[] = ["Log", "Service", "Discovery"];

function group(tag: OperationTag, operations: readonly Operation[]): string {
  const own = operations.filter((operation) => operation.tag === tag);
  const text = LISTED.includes(tag)
    ? own.map((operation) => `- ${routeOf(operation)}: ${operation.summary}.`).join("\n")
    : sections(own).join("\n\n");
  return `## ${tag}\n\n${operationTags[tag]}\n\n${text}`;
}

const routeOf = ({ method, path }: Operation): string => `\`${method.toUpperCase()} ${path}\``;

/** A section for each operation; operations that differ in the method alone share one. */
function sections(operations: readonly Operation[]): readonly string[] {
  const titled = Map.groupBy(operations, (one) => `${one.summary}\n${usage(one)}`);
  return Array.from(titled.values(), (some) => {
    const [first] = some as [Operation, ...Operation[]];
    return `### ${first.summary}\n\n${some.map(routeOf).join("\n")}\n\n${usage(first)}`;
  });
}

/** What an operation does, takes and answers. */
function usage(operation: Operation): string {
  const { pathMembers, query, header, body } = operation;
  const members = { Path: pathMembers, Query: query, Header: header, Body: body?.schema };
  const inputs = Object.entries(members).flatMap(([place, schema]) =>
    schema === undefined ? [] : `- ${place}: ${membersOf(jsonSchemaOf(schema, "input"))}`,
  );
  return [
    `${descriptionOf(operation)}\n`,
    ...inputs,
    ...answersOf(operation),
    ...failuresOf(operation),
  ].join("\n");
}

/**
 * The successful responses of an operation, one line each. Statuses with equal responses share a
 * line, and 304 is omitted.
 */
function answersOf({ answers }: Operation): readonly string[] {
  const described = Object.entries(answers).filter(([status]) => status !== "304");
  const byText = Map.groupBy(described, ([, answer]) => answerText(answer));
  return Array.from(
    byText,
    ([text, some]) => `- ${some.map(([status]) => status).join(", ")}: ${text}`,
  );
}

function answerText({ description: words, content = [] }: SuccessResponse): string {
  const [first] = content;
  const schema = first?.schema && typeText(jsonSchemaOf(first.schema, "output"));
  return `${words.replace(/\.$/, "")}${schema === undefined ? "" : `: ${schema}`}`;
}

/** The errors of an operation, except those that most operations have. */
function failuresOf({ problems = [], errorsByStatus = {} }: Operation): readonly string[] {
  const own = problems.filter((code) => !COMMON_PROBLEMS.includes(code));
  const named = Object.entries(errorsByStatus).filter(
    ([, errors]) => errors.join() !== OAUTH_TEMPORARY,
  );
  const all = [...named, ...byStatus(own)];
  return all.length === 0 ? [] : [`- Failures: ${failureList(all)}`];
}

/** The OAuth error for temporary failures. A status whose only error is this one is not listed. */
const OAUTH_TEMPORARY: OAuthErrorCode = "temporarily_unavailable";

const COMMON_PROBLEMS: readonly ProblemCode[] = [...PROTECTED_PROBLEMS, ...BODY_PROBLEMS];

type ByStatus = readonly (readonly [status: string, codes: readonly string[]])[];

const byStatus = (codes: readonly ProblemCode[]): ByStatus =>
  Object.entries(Object.groupBy(codes, problemStatus)) as [string, readonly string[]][];

const failureList = (failures: ByStatus): string =>
  failures
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([status, codes]) => `${status} ${codes.map(quoted).join(", ")}`)
    .join("; ");

const quoted = (name: string): string => `\`${name}\``;

const membersOf = (schema: JsonObject): string => membersIn(schema).join(", ");

/**
 * The members of an object schema with their types; a star marks required members. For any other
 * schema, only its type.
 */
function membersIn(schema: JsonObject): readonly string[] {
  const { properties, required = [] } = schema as ObjectSchema;
  const members = Object.entries(properties ?? {}).map(([name, member]) => {
    const star = required.includes(name) ? "*" : "";
    return `${quoted(name)}${star} (${withGroups(typeText(member))})`;
  });
  return members.length === 0 ? [typeText(schema)] : members;
}

/** Names a group of members instead of repeating them within another type. */
const withGroups = (type: string): string =>
  Object.entries({ InstrumentEvent: EventData, Alert: AlertAnswer }).reduce(
    (text, [name, { shape }]) => text.replace(Object.keys(shape).join(", "), `all of ${name}`),
    type.replace(MarketMode.options.join("|"), "MarketMode"),
  );

/** Schemas that several responses have in common, so that the reference lists them once. */
const shared = () => ({
  AnswerOrigin: jsonSchemaOf(AnswerOrigin, "output"),
  InstrumentAnswer: jsonSchemaOf(InstrumentAnswer, "output"),
  InstrumentEvent: jsonSchemaOf(EventData, "output"),
  MarketMode: jsonSchemaOf(MarketMode, "output"),
});

/**
 * A line for each schema. A schema that extends another refers to that schema instead of repeating
 * its members.
 */
function memberLines(all: Readonly<Record<string, JsonObject>>): readonly string[] {
  const listed = Object.entries(all).map(([name, schema]) => ({
    name,
    members: membersIn(schema),
  }));
  const bases = listed.toSorted((a, b) => b.members.length - a.members.length);
  return listed.map(({ name, members }) => {
    const base = bases.find((other) => extendsOther(members, other.members));
    const added = members.filter((member) => !base?.members.includes(member)).join(", ");
    return `- **${name}**: ${base === undefined ? added : `as ${base.name}, and ${added}`}`;
  });
}

/** Whether `members` include all members of another schema and at least one more. */
const extendsOther = (members: readonly string[], others: readonly string[]): boolean =>
  others.length < members.length && others.every((member) => members.includes(member));

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, JsonObject>>;
  readonly required?: readonly string[];
}
