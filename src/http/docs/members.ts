import { type Html, html } from "../../markup/html.ts";
import type { JsonObject } from "../../openapi/components.ts";
import { typeText } from "../../openapi/type-text.ts";
import type { ApiDescription, DescribedParameter, Schema } from "./described.ts";
import { richLine } from "./rich-text.ts";

type Schemas = ApiDescription["components"]["schemas"];

/** A member of a request or response. */
interface Member {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description?: string | undefined;
}

/**
 * Maximum nesting depth of the members that the page lists; the OpenAPI description has all levels.
 */
const MAX_LEVELS = 3;

/** Renders the list of an operation's parameters. */
export const parameterList = (parameters: readonly DescribedParameter[]): Html =>
  html`<ul class="members">${parameters.map(({ name, required, description, schema, ...one }) =>
    item(
      { name, schema, isRequired: required, description },
      one.in === "query" ? undefined : one.in,
    ),
  )}</ul>`;

/** Renders the list of a schema's members, including nested ones; `undefined` if it has none. */
export function memberList(schema: Schema | undefined, schemas: Schemas): Html | undefined {
  const alternatives = schema === undefined ? [] : alternativesOf(schema, schemas);
  const lists = alternatives.flatMap((one) => {
    const members = membersOf(one, schemas, "", MAX_LEVELS);
    return members.length === 0
      ? []
      : [html`<ul class="members">${members.map((m) => item(m))}</ul>`];
  });
  if (lists.length < 2) return lists[0];
  return html`${lists.map((list, at) => html`<p class="quiet">${at === 0 ? "One of:" : "Or:"}</p>${list}`)}`;
}

/**
 * Resolves the reference of a schema and, for a union, returns each alternative other than `null`.
 */
function alternativesOf(schema: Schema, schemas: Schemas): readonly Schema[] {
  const target = resolve(schema, schemas);
  const several = (target.anyOf ?? target.oneOf)?.filter(({ type }) => type !== "null");
  return several === undefined ? [target] : several.flatMap((one) => alternativesOf(one, schemas));
}

function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : (schemas[name] ?? schema);
}

/**
 * The members of an object, with dotted names. Members of a nested object are included, unless that
 * object is a union of several alternatives.
 */
function membersOf(
  schema: Schema,
  schemas: Schemas,
  prefix: string,
  levels: number,
): readonly Member[] {
  const { properties = {}, required = [] } = schema;
  return Object.entries(properties).flatMap(([key, member]) => {
    const name = prefix + key;
    const own = { name, schema: member, isRequired: required.includes(key) };
    const { description = resolve(member, schemas).description } = member;
    return [{ ...own, description }, ...insideOf(member, schemas, name, levels - 1)];
  });
}

function insideOf(
  schema: Schema,
  schemas: Schemas,
  name: string,
  levels: number,
): readonly Member[] {
  const [only, ...others] = levels > 0 ? alternativesOf(schema, schemas) : [];
  if (only === undefined || others.length > 0) return [];
  if (only.items !== undefined) return insideOf(only.items, schemas, `${name}[]`, levels);
  return membersOf(only, schemas, `${name}.`, levels);
}

const item = ({ name, schema, isRequired, description }: Member, place?: string): Html =>
  html`<li><code>${name}</code> <span class="type">${typeOf(schema)}${place && `, ${place}`}${rangeOf(schema)}</span>${isRequired && html` <span class="required">required</span>`}${description && html`<p>${richLine(description)}</p>`}</li>`;

/** The type in words; the members of objects are listed separately. */
function typeOf(schema: Schema): string {
  const text = typeText(schema as JsonObject);
  return text.replaceAll(/\{[^}]*\}/g, "object");
}

/** The range and the default of a schema as text, such as `, 1 to 500, default 50`. */
function rangeOf({ minimum, maximum, default: usual }: Schema): string {
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  const range =
    minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && isBounded
      ? `, ${minimum} to ${maximum}`
      : "";
  return usual === undefined || usual === "" ? range : `${range}, default ${String(usual)}`;
}
