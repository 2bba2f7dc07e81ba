import fc from "fast-check";

/** The parts of JSON Schema that are read here. */
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

/** Values that answers had under a name are remembered up to this many. */
const MOST_PER_NAME = 20;

/** What is in a value, with its name; items of a list have that of the list. */
function membersIn(name: string, value: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.slice(0, MOST_PER_NAME).map((one) => [name, one]);
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** Remembers what answers said, by the name of the member. */
export function createMemory() {
  const seen = new Map<string, readonly string[]>();

  function note(name: string, value: unknown): void {
    for (const [inner, one] of membersIn(name, value)) note(inner, one);
    if (typeof value !== "string" || value === "") return;
    const others = (seen.get(name) ?? []).filter((one) => one !== value);
    seen.set(name, [value, ...others].slice(0, MOST_PER_NAME));
  }

  return {
    /** Remembers everything in an answer. */
    remember: (answer: unknown) => note("", answer),
    /** The newest value of a name, of its singular, or of one that ends as it does. */
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
    /** Everything that was remembered under a name. */
    all: (name: string): readonly string[] => seen.get(name) ?? [],
  };
}

/** What answers said. */
export type Memory = ReturnType<typeof createMemory>;

/** The least that a schema asks for. */
export function leastArguments({ properties = {}, required = [] }: Schema, memory: Memory) {
  const entries = required.map((name) => [name, valuesFor(name, properties[name], memory)[0]]);
  return Object.fromEntries(entries) as Arguments;
}

/** The least with, one at a time, everything that the schema allows beside it. What has the most
 *  choices comes last: one of them may end what the others need. */
export function moreArguments(schema: Schema, memory: Memory): readonly Arguments[] {
  const least = leastArguments(schema, memory);
  return Object.entries(schema.properties ?? {})
    .map(([name, part]) => ({ name, values: valuesFor(name, part, memory) }))
    .toSorted((one, other) => one.values.length - other.values.length)
    .flatMap(({ name, values }) => values.map((value) => ({ ...least, [name]: value })));
}

/** What was sent, with one at a time of the members that a refusal of it names. */
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

/** Values of a schema that are worth a try: every choice, and else what its rules give. */
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
    // Other members may end as this name does.
    const isInstant = known !== undefined && !Number.isNaN(Date.parse(known));
    return isInstant ? [known, ...instants] : instants;
  }
  return [known ?? sampled(pattern)];
}

/** A text that a pattern allows; the same one every time. */
const sampled = (pattern = "^[a-z]{8}$"): string =>
  fc.sample(fc.stringMatching(new RegExp(pattern, "u")), { seed: 1, numRuns: 1 })[0] ?? "";
