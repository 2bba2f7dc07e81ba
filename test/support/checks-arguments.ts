import fc from "fast-check";

/** The keywords of JSON Schema that the checks use. */
export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
}

/** The arguments of a call. */
export type Arguments = Readonly<Record<string, unknown>>;

const HOUR_MS = 3_600_000;

/** Maximum number of remembered values per name. */
const MOST_PER_NAME = 20;

/** The members of an object, or the items of an array under the array's name. */
function membersIn(name: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.slice(0, MOST_PER_NAME).map((one) => [name, one]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** Creates a memory of the strings in answers, by the name of their member. */
export function createMemory() {
  const seen = new Map<string, readonly string[]>();

  function note(name: string, value: unknown): void {
    for (const [inner, one] of membersIn(name, value)) note(inner, one);
    if (typeof value !== "string" || value === "") return;
    const others = (seen.get(name) ?? []).filter((one) => one !== value);
    seen.set(name, [value, ...others].slice(0, MOST_PER_NAME));
  }

  return {
    /** Remembers all strings in an answer. */
    remember: (answer: unknown) => note("", answer),
    /**
     * The newest value of this name or, if there is none, of its singular, or of a longer or
     * shorter name with the same ending.
     */
    recall(name: string): string | undefined {
      const names = [...seen.keys()];
      const isEndOf = (long: string, short: string) =>
        long.toLowerCase().endsWith(short.toLowerCase());
      const candidates = [
        ...[name, name.replace(/s$/, "")],
        ...names.filter((one) => isEndOf(one, name)),
        ...names.filter((one) => isEndOf(name, one)),
      ];
      return candidates.map((one) => seen.get(one)?.[0]).find((value) => value !== undefined);
    },
    /** All remembered values of this name, newest first. */
    all: (name: string): readonly string[] => seen.get(name) ?? [],
  };
}

/** A memory of the strings in answers. */
export type Memory = ReturnType<typeof createMemory>;

/** Arguments with only the required members. */
export function leastArguments({ properties = {}, required = [] }: Schema, memory: Memory) {
  const entries = required.map((name) => [name, valuesFor(name, properties[name], memory)[0]]);
  return Object.fromEntries(entries) as Arguments;
}

/**
 * Variants of the minimal arguments, each with one value of one member added or replaced. Members
 * with few possible values come first, because the many values of a later member may delete
 * something that the other variants need.
 */
export function moreArguments(schema: Schema, memory: Memory): readonly Arguments[] {
  const least = leastArguments(schema, memory);
  return Object.entries(schema.properties ?? {})
    .map(([name, part]) => ({ name, values: valuesFor(name, part, memory) }))
    .toSorted((one, other) => one.values.length - other.values.length)
    .flatMap(({ name, values }) => values.map((value) => ({ ...least, [name]: value })));
}

/** Variants of the sent arguments, each with one more member that the error text mentions. */
export function advisedArguments(
  { properties = {} }: Schema,
  { sent, words }: { readonly sent: Arguments; readonly words: string },
  memory: Memory,
): readonly Arguments[] {
  const named = words.match(/\w+/g) ?? [];
  return [...new Set(named)]
    .filter((name) => Object.hasOwn(properties, name) && !Object.hasOwn(sent, name))
    .map((name) => ({ ...sent, [name]: valuesFor(name, properties[name], memory)[0] }));
}

/** Values to try for a schema: every alternative, or else values that its keywords suggest. */
function valuesFor(name: string, schema: Schema = {}, memory: Memory): readonly unknown[] {
  const choices = [...(schema.oneOf ?? []), ...(schema.anyOf ?? [])];
  if (choices.length > 0) return choices.flatMap((choice) => valuesFor(name, choice, memory));
  if ("const" in schema) return [schema.const];
  if (schema.enum !== undefined) return schema.enum;
  if (schema.examples !== undefined) return schema.examples;
  return plainValues(name, schema, memory);
}

function plainValues(name: string, schema: Schema, memory: Memory): readonly unknown[] {
  switch (schema.type) {
    case "string":
      return texts(name, schema, memory);
    case "integer":
    case "number":
      return [schema.default ?? schema.minimum ?? (schema.exclusiveMinimum ?? 0) + 1];
    case "array":
      return valuesFor(name, schema.items, memory).map((value) => [value]);
    case "object":
      return [leastArguments(schema, memory)];
    case "boolean":
      return [true, false];
    default:
      return [null];
  }
}

function texts(name: string, { format, pattern }: Schema, memory: Memory): readonly unknown[] {
  const now = Date.now();
  const instants = [now - HOUR_MS, now + HOUR_MS].map((at) => new Date(at).toISOString());
  const known = memory.recall(name);
  if (format === "date-time") {
    // A remembered value may belong to a member with a similar name, so it is not always an
    // instant.
    const isInstant = known !== undefined && !Number.isNaN(Date.parse(known));
    return isInstant ? [known, ...instants] : instants;
  }
  return [known ?? sampled(pattern)];
}

/** A string that matches a pattern; the same string for every call with that pattern. */
const sampled = (pattern = "^[a-z]{8}$"): string =>
  fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { seed: 1, numRuns: 1 })[0] ?? "";
