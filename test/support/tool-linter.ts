import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** A tool in a tools/list result. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly inputSchema: Json;
  readonly outputSchema?: Json | undefined;
  readonly annotations?: Json | undefined;
}

/** The result of a tool call. */
interface ToolAnswer {
  readonly content?: unknown;
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/**
 * Maximum size of one tool definition in bytes; a model reads all definitions before its first
 * call.
 */
const MAX_TOOL_BYTES = 5_000;
/** Minimum and maximum length of a description, in characters. */
const DESCRIPTION = { min: 50, max: 1_024 };

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

/** Faults of a tool definition, each with the name of the tool. */
export function toolFaults(tool: ListedTool): readonly string[] {
  const { name, title = "", description = "", inputSchema, outputSchema, annotations = {} } = tool;
  const { min, max } = DESCRIPTION;
  const rules: readonly (readonly [boolean, string])[] = [
    [/^[a-z][a-z0-9_]{0,63}$/.test(name), "its name is no snake_case of 64 characters at most"],
    [title !== "" && title !== name, "it has no title"],
    [
      description.length >= min && description.length <= max,
      `its description has not ${min} to ${max} characters`,
    ],
    [
      !/\b(?:always|must|never|ignore|important)\b/i.test(description),
      "its description orders the model about",
    ],
    [HINTS.every((hint) => typeof annotations[hint] === "boolean"), "a hint is missing"],
    [
      annotations.readOnlyHint !== true || annotations.destructiveHint === false,
      "it reads and destroys",
    ],
    [inputSchema.type === "object", "its input is no object"],
    [outputSchema?.type === "object", "its output is no object"],
    [JSON.stringify(tool).length <= MAX_TOOL_BYTES, `it has more than ${MAX_TOOL_BYTES} bytes`],
    [isSchema(inputSchema) && isSchema(outputSchema ?? {}), "a schema is none"],
    ...membersOf(inputSchema).map(
      ([path, member]) => [isDescribed(member), `nothing is said of ${path}`] as const,
    ),
    ...objectsIn(inputSchema).map(
      ([path, object]) =>
        [object.additionalProperties === false, `anything may be added to ${path}`] as const,
    ),
  ];
  return rules.filter(([holds]) => !holds).map(([, fault]) => `${name}: ${fault}`);
}

/**
 * Faults of a tool result, whose text and structured content must agree, because clients read one
 * or the other.
 */
export function answerFaults(tool: ListedTool, answer: ToolAnswer): readonly string[] {
  const { content, structuredContent, isError } = answer;
  const [first, ...others] = content as readonly { type: string; text: string }[];
  if (first?.type !== "text" || others.length > 0) return ["it is not one text"];
  if (isError === true) {
    return /^[a-z_]+: .+[.?]$/s.test(first.text) ? [] : ["its error says no code and sentence"];
  }
  if (first.text !== JSON.stringify(structuredContent)) return ["text and data differ"];
  return ajv.validate(tool.outputSchema as object, structuredContent) ? [] : [ajv.errorsText()];
}

function isSchema(schema: object): boolean {
  return ajv.validateSchema(schema) === true && !JSON.stringify(schema).includes('"$ref":"http');
}

/** Whether a member has a description; a constant does not need one. */
const isDescribed = (member: Json): boolean =>
  "const" in member || (typeof member.description === "string" && member.description !== "");

/** A schema and all schemas within it, each with its path. */
function schemasIn(schema: Json, path = "input"): readonly (readonly [string, Json])[] {
  const members = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Json>>);
  const branches = ["anyOf", "oneOf", "allOf"].flatMap((key) => (schema[key] ?? []) as Json[]);
  const items = schema.items === undefined ? [] : [schema.items as Json];
  return [
    [path, schema],
    ...members.flatMap(([name, member]) => schemasIn(member, `${path}.${name}`)),
    ...branches.flatMap((branch) => schemasIn(branch, path)),
    ...items.flatMap((item) => schemasIn(item, `${path}[]`)),
  ];
}

const objectsIn = (schema: Json) => schemasIn(schema).filter(([, { type }]) => type === "object");

const membersOf = (schema: Json) =>
  objectsIn(schema).flatMap(([path, { properties = {} }]) =>
    Object.entries(properties as Readonly<Record<string, Json>>).map(
      ([name, member]) => [`${path}.${name}`, member] as const,
    ),
  );
