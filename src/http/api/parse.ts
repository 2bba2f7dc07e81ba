import { distance } from "fastest-levenshtein";
import { z } from "zod";
import { Problem } from "../../lib/problem.ts";

/**
 * Maximum number of issues in one error message; it is low because the message may be passed to a
 * model.
 */
const MAX_ISSUES = 5;
/** Maximum length of an issue, in characters. */
const MAX_ISSUE_CHARACTERS = 200;

/**
 * Validates untrusted input against a schema.
 *
 * @throws {Problem} `invalid_request`, whose detail lists the first `MAX_ISSUES` issues.
 */
export function parseInput<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = validateInput(schema, value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) =>
    (path.length > 0 ? `${path.join(".")}: ${message}` : message)
      .slice(0, MAX_ISSUE_CHARACTERS)
      .replace(/\.$/, ""),
  );
  const more = issues.length > MAX_ISSUES ? `; and ${issues.length - MAX_ISSUES} more` : "";
  throw new Problem("invalid_request", {
    detail: `${issues.slice(0, MAX_ISSUES).join("; ")}${more}.`,
    next: "Correct the named members and send the request again.",
  });
}

/** Validates a value; issues are worded by `issueText` instead of Zod. */
export const validateInput = <S extends z.ZodType>(schema: S, value: unknown) =>
  schema.safeParse(value, { error: issueText });

/** Texts for expected types, keyed by Zod's type name. */
const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
};

/** Texts for string formats, keyed by Zod's format name. */
const FORMATS: Readonly<Record<string, string>> = {
  datetime: "an ISO 8601 instant such as 2026-11-21T05:00:00Z",
  date: "an ISO 8601 date such as 2026-11-21",
  email: "an email address such as name@host.example",
  url: "an address such as https://host.example/path",
};

/** Maximum number of known members listed when none of them resembles the unknown name. */
const MAX_LISTED_MEMBERS = 20;

/** Edit distance up to which an unknown name is treated as a typo. */
const MAX_EDIT_DISTANCE = 2;

/** Units of sizes, singular and plural, keyed by the type whose size is bounded. */
const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: ["character", "characters"],
  array: ["entry", "entries"],
};

/**
 * The text for an invalid input, in the service's wording instead of the validator's. A schema's
 * own message takes precedence.
 *
 * @returns `undefined` to use the validator's message.
 */
function issueText(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return typeText(issue);
    case "invalid_value":
      return valueText(issue);
    case "invalid_format":
      return `must be ${FORMATS[issue.format] ?? "in the documented format"}`;
    case "too_small":
      return boundText(issue, issue.minimum, "at least");
    case "too_big":
      return boundText(issue, issue.maximum, "at most");
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "unrecognized_keys":
      return unknownMembers(issue.keys, issue.inst);
    default:
      return undefined;
  }
}

const typeText = ({ input, expected }: { input?: unknown; expected: string }): string =>
  input === undefined ? "is missing" : `must be ${TYPES[expected] ?? expected}`;

const valueText = ({ values }: { values: readonly unknown[] }): string =>
  `must be ${values.length > 1 ? "one of " : ""}${values.join(", ")}`;

/**
 * Text for a violated bound, such as `must have at least 1 character`.
 *
 * @param inclusiveWord Wording of an inclusive bound: `at least` or `at most`.
 */
function boundText(
  { origin, inclusive = true }: { origin: string; inclusive?: boolean | undefined },
  value: number | bigint,
  inclusiveWord: string,
): string {
  const exclusiveWord = inclusiveWord === "at least" ? "more than" : "less than";
  const word = inclusive ? inclusiveWord : exclusiveWord;
  const counted = UNITS[origin];
  return counted === undefined
    ? `must be ${word} ${value}`
    : `must have ${word} ${value} ${counted[Number(value) === 1 ? 0 : 1]}`;
}

/**
 * Lists unknown members until the text reaches its maximum length. The list is bounded because a
 * body can have thousands of members, and each is compared with every known member.
 */
function unknownMembers(keys: readonly string[], schema: unknown): string {
  let text = "";
  for (const key of keys) {
    if (text.length >= MAX_ISSUE_CHARACTERS) break;
    text += `${text === "" ? "" : "; "}${unknownMember(key, schema)}`;
  }
  return text;
}

function unknownMember(key: string, schema: unknown): string {
  const known = membersOf(schema);
  const near = known.flatMap(([name, member]) => similarMember(key, name, member))[0];
  if (near !== undefined) return `${key} is unknown: did you mean ${near}?`;
  const names = known.slice(0, MAX_LISTED_MEMBERS).map(([name]) => name);
  return `${key} is unknown${names.length > 0 ? `; known are ${names.join(", ")}` : ""}`;
}

/**
 * Suggests the known member `name` if the unknown name `key` is a prefix of `name`, or differs from
 * it by at most `MAX_EDIT_DISTANCE` edits; suggests `name.key` if the known member has a member
 * `key`.
 *
 * @returns The suggestion in an array, or an empty array.
 */
function similarMember(key: string, name: string, member: unknown): readonly string[] {
  if (name.startsWith(key)) return [name];
  const isTyped = key.length > MAX_EDIT_DISTANCE && distance(key, name) <= MAX_EDIT_DISTANCE;
  if (isTyped) return [name];
  return membersOf(member).some(([inner]) => inner === key) ? [`${name}.${key}`] : [];
}

/**
 * The members of an object schema. Optional, nullable and default schemas are unwrapped; the
 * members of a union are combined.
 */
function membersOf(schema: unknown): readonly (readonly [string, unknown])[] {
  if (schema instanceof z.ZodObject) return Object.entries(schema.shape);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(membersOf);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault
  ) {
    return membersOf(schema.unwrap());
  }
  if (schema instanceof z.ZodPipe) return membersOf(schema.in);
  return [];
}
