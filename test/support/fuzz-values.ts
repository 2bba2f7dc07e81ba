import fc from "fast-check";

/** The keywords of JSON Schema that the generators use. */
export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Returns the schema that a `$ref` points to. */
export type Resolve = (ref: string) => Schema;

/** Maximum length of generated lists. */
const MAX_ITEMS = 4;

/**
 * Strings that often break programs: control and bidirectional characters, lone surrogates, markup,
 * paths, format strings, non-numbers such as NaN, and names of members that every object inherits.
 */
const ODD_TEXTS: readonly string[] = [
  ...["", " ", "\u0000", "a\u0000b", "\ud800", "\u202egnp.exe", "\u0007\u001b[31m", "ﬃ", "İ", "ß"],
  ...["<script>alert(1)</script>", "{{7*7}}", "#{7*7}", "%s%n%x", "' OR 1=1 --", "; rm -rf /"],
  ...[
    "../../etc/passwd",
    "..%2f..%2fetc",
    "//evil.example",
    "\\\\host\\share",
    "file:///etc/passwd",
  ],
  ...["http://169.254.169.254/", "https://[::1]/", "javascript:alert(1)", "data:text/html,x"],
  ...["__proto__", "constructor", "toString", "hasOwnProperty", "null", "undefined", "NaN", "true"],
  ...["-0", "1e309", "0x10", "٣", "1_000", "9007199254740993", "2026-02-30T00:00:00Z"],
  ...["-271821-04-20T00:00:00.000Z", "+275760-09-13T00:00:00.000Z", "0001-01-01T00:00:00+23:59"],
  ...["AAPL", "ALDER.SIM", "alder.sim", "x".repeat(600), "é".repeat(3_000), "\r\nX-Injected: 1"],
];

/** Generates values of any type, which no member expects. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...ODD_TEXTS),
  fc.constantFrom<unknown>(null, true, false, 0, -1, 0.5, -0, 1e21, 2 ** 53, -(2 ** 31), 1e-7),
  fc.constantFrom<unknown>([], {}, [[]], [null], { __proto__: null }, { length: -1 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 3 }),
);

/** Generates strings that no parameter expects. */
export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...ODD_TEXTS),
  fc.string({ unit: "binary", maxLength: 40 }),
);

/**
 * Generates values that mostly conform to a schema: they respect its bounds and the common formats.
 */
export function valueFor(schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  if (schema.$ref !== undefined) return valueFor(resolve(schema.$ref), resolve);
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (choices !== undefined) return fc.oneof(...choices.map((one) => valueFor(one, resolve)));
  const types = [schema.type ?? "string"].flat();
  return fc.oneof(...types.map((type) => ofType(type, schema, resolve)));
}

function ofType(type: string, schema: Schema, resolve: Resolve): fc.Arbitrary<unknown> {
  switch (type) {
    case "object":
      return objectOf(schema, resolve);
    case "array": {
      const { items = {}, minItems: minLength = 0, maxItems = MAX_ITEMS } = schema;
      const maxLength = Math.max(minLength, Math.min(MAX_ITEMS, maxItems));
      return fc.array(valueFor(items, resolve), { minLength, maxLength });
    }
    case "integer":
      return fc.integer(boundsOf(schema));
    case "number":
      return fc.double({ ...boundsOf(schema), noNaN: true });
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    default:
      return textOf(schema);
  }
}

const boundsOf = ({ minimum: min = -1_000, maximum: max = 1_000_000 }: Schema) => ({ min, max });

function objectOf(
  { properties = {}, required = [] }: Schema,
  resolve: Resolve,
): fc.Arbitrary<object> {
  const members: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(
    Object.entries(properties).map(([name, one]) => [name, valueFor(one, resolve)]),
  );
  const requiredKeys = required.filter((name) => name in properties);
  return fc.record(members, { requiredKeys });
}

function textOf({ format, pattern, minLength = 0, maxLength = 40 }: Schema): fc.Arbitrary<string> {
  if (format === "date-time") {
    const from = { min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true };
    return fc.date(from).map((date) => date.toISOString());
  }
  if (format === "email") return fc.emailAddress();
  if (format === "uri" || format === "uri-reference") return fc.webUrl({ validSchemes: ["https"] });
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 200)) });
}
