import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength });
const uri = { type: "string", format: "uri" };
const strings = { type: "array", items: { type: "string" } };

/** Schema of one header, or of one variable, of an entry in `remotes`. */
const input = {
  type: "object",
  properties: {
    description: { type: "string" },
    isRequired: { type: "boolean" },
    isSecret: { type: "boolean" },
    format: { enum: ["string", "number", "boolean", "filepath"] },
    default: { type: "string" },
    placeholder: { type: "string" },
    value: { type: "string" },
    choices: strings,
    variables: { type: "object" },
  },
};

/**
 * Schema of version 1 of the server card (SEP-2127 as of 2026-07-24), written from its table of
 * members. Additional members are allowed.
 */
const schema = {
  type: "object",
  required: ["$schema", "name", "version", "description"],
  properties: {
    $schema: {
      type: "string",
      pattern:
        "^https://static\\.modelcontextprotocol\\.io/schemas/v1/server-card\\.schema\\.json$",
    },
    name: {
      type: "string",
      minLength: 3,
      maxLength: 200,
      pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
    },
    version: { type: "string", maxLength: 255, not: { pattern: "[\\^~*<>|]|\\.x" } },
    description: text(100),
    title: text(100),
    websiteUrl: uri,
    repository: {
      type: "object",
      required: ["url", "source"],
      properties: { url: uri, source: { type: "string" } },
    },
    icons: {
      type: "array",
      items: {
        type: "object",
        required: ["src"],
        properties: { src: uri, sizes: strings, theme: { enum: ["light", "dark"] } },
      },
    },
    remotes: {
      type: "array",
      items: {
        type: "object",
        required: ["type", "url"],
        properties: {
          type: { enum: ["streamable-http", "sse"] },
          url: {
            type: "string",
            pattern: "^(https?://[^\\s]+|\\{[a-zA-Z_][a-zA-Z0-9_]*\\}[^\\s]*)$",
          },
          headers: {
            type: "array",
            items: { ...input, required: ["name"] },
          },
          variables: { type: "object", additionalProperties: input },
          supportedProtocolVersions: strings,
        },
      },
    },
    _meta: { type: "object" },
  },
};

const ajv = new Ajv2020({ allErrors: true });
addFormats.default(ajv);
const validate = ajv.compile(schema);

/** Returns the schema violations of a server card. */
export function cardFaults(card: unknown): readonly string[] {
  validate(card);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
