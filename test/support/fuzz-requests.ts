import fc from "fast-check";
import type { Described, Description } from "./checks-answers.ts";
import { oddText, oddValue, type Resolve, type Schema, valueFor } from "./fuzz-values.ts";

/** A generated request, which may violate the OpenAPI document. */
export interface FuzzedRequest {
  readonly one: Described;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** The input that an operation accepts according to the OpenAPI document. */
interface Taken {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required?: boolean;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema?: Schema }>>;
  };
}

/** Options of the generated requests. */
export interface FuzzOptions {
  readonly document: Description;
  readonly described: readonly Described[];
  /** Credential headers, one set for each kind of caller. */
  readonly callers: readonly Readonly<Record<string, string>>[];
  /** Ids of existing things, for path parameters. */
  readonly ids: readonly string[];
}

/** Reciprocal of the probability that a part of a request violates the document. */
const ODD_ONE_IN = 4;

/** Weight of operations that accept input or need a credential, relative to all others. */
const OFTEN = 8;

const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: usual, weight: ODD_ONE_IN - 1 }, { arbitrary: odd, weight: 1 });

const text = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");

/** Headers that change how a server interprets a request. */
const oddHeaders: fc.Arbitrary<Readonly<Record<string, string>>> = fc.constantFrom(
  { accept: "text/html" },
  { accept: "image/*;q=0.1, */*;q=0" },
  { "accept-encoding": "br;q=1.0, *;q=0" },
  { "x-forwarded-for": "203.0.113.7, 127.0.0.1" },
  { forwarded: "for=203.0.113.7;host=evil.example;proto=https" },
  { "x-forwarded-host": "evil.example" },
  { origin: "https://evil.example" },
  { cookie: "session=%00; __Host-session=x; a=b=c" },
  { "if-none-match": '*, W/"x", "' },
  { "idempotency-key": "x".repeat(300) },
  { "last-event-id": "-1" },
  { traceparent: "00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-zz" },
  { "x-request-id": "a b\tc" },
  { "mcp-protocol-version": "1999-01-01" },
  { "x-http-method-override": "DELETE" },
  { range: "bytes=0-0" },
);

/** Generates requests to all operations, less often to public operations without input. */
export function fuzzedRequest(options: FuzzOptions): fc.Arbitrary<FuzzedRequest> {
  const weighed = options.described.map((one) => ({
    arbitrary: requestTo(one, options),
    weight: takesNothing(one) ? 1 : OFTEN,
  }));
  return fc.oneof(...weighed);
}

function takesNothing({ operation }: Described): boolean {
  const { parameters = [], requestBody } = operation as Taken;
  return parameters.length === 0 && requestBody === undefined && operation.security.length === 0;
}

function requestTo(one: Described, options: FuzzOptions): fc.Arbitrary<FuzzedRequest> {
  const taken = one.operation as Taken;
  const resolve = resolver(options.document);
  return fc
    .record({
      path: pathOf(one.path, options.ids),
      query: queryOf(taken, resolve),
      caller: fc.constantFrom(...options.callers),
      odd: mostly(fc.constant({}), oddHeaders),
      sent: bodyOf(taken, resolve),
    })
    .map(({ path, query, caller, odd, sent: { type, body } }) => ({
      one,
      path: query === "" ? path : `${path}?${query}`,
      headers: { ...caller, ...odd, ...(type && { "content-type": type }) },
      body,
    }));
}

/** Creates a function that resolves a `$ref` (JSON pointer, RFC 6901) in the document. */
function resolver(document: Description): Resolve {
  return (ref) =>
    ref
      .replace(/^#\//, "")
      .split("/")
      .reduce<unknown>((part, step) => (part as Record<string, unknown>)[step], document) as Schema;
}

function pathOf(path: string, ids: readonly string[]): fc.Arbitrary<string> {
  const parts = path.split(/(\{\w+\})/);
  const arbitraries = parts.map((part) =>
    part.startsWith("{")
      ? mostly(fc.constantFrom(...ids), oddText).map(encoded)
      : fc.constant(part),
  );
  return fc.tuple(...arbitraries).map((all) => all.join(""));
}

/**
 * Percent-encodes a path segment. Lone surrogates are replaced, and empty or dot segments are
 * avoided, because they would change the path.
 */
function encoded(segment: string): string {
  const part = encodeURIComponent(segment.toWellFormed());
  return /^\.{0,2}$/.test(part) ? "%00" : part;
}

function queryOf({ parameters = [] }: Taken, resolve: Resolve): fc.Arbitrary<string> {
  const known = parameters.filter((one) => one.in === "query");
  const pairs = known.map(({ name, schema = {}, required = false }) => {
    const value = mostly(valueFor(schema, resolve).map(text), oddText);
    return fc
      .option(value, { nil: undefined, freq: required ? 9 : 1 })
      .map((given) => (given === undefined ? [] : [[name, given] as const]));
  });
  const unknown = mostly(
    fc.constant<readonly (readonly [string, string])[]>([]),
    fc.tuple(oddText, oddText).map((pair) => [pair]),
  );
  return fc.tuple(unknown, ...pairs).map((all) => queryText(all.flat()));
}

const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString();

interface Sent {
  readonly type: string | undefined;
  readonly body: string | undefined;
}

function bodyOf({ requestBody }: Taken, resolve: Resolve): fc.Arbitrary<Sent> {
  if (requestBody === undefined) return fc.constant({ type: undefined, body: undefined });
  const usual = Object.entries(requestBody.content).map(([type, { schema = {} }]) =>
    mutated(valueFor(schema, resolve)).map((value) => ({ type, body: written(type, value) })),
  );
  const types = Object.keys(requestBody.content);
  return mostly(fc.oneof(...usual), oddBody(types));
}

/** Generates the value itself, or a copy with one member replaced, added or removed. */
function mutated(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const changed = fc
    .tuple(value, fc.nat(), oddValue, fc.constantFrom("replace", "add", "remove"))
    .map(([given, at, odd, how]) => {
      if (typeof given !== "object" || given === null || Array.isArray(given)) return odd;
      const names = Object.keys(given);
      const name = how === "add" ? `odd${at % 7}` : (names[at % Math.max(1, names.length)] ?? "x");
      return { ...given, [name]: how === "remove" ? undefined : odd };
    });
  return fc.oneof(value, changed);
}

function written(type: string, value: unknown): string {
  if (type !== "application/x-www-form-urlencoded") return JSON.stringify(value) ?? "";
  const pairs = Object.entries((value ?? {}) as Readonly<Record<string, unknown>>);
  return queryText(pairs.map(([name, one]) => [name, text(one)]));
}

function oddBody(types: readonly string[]): fc.Arbitrary<Sent> {
  const type = fc.constantFrom(
    ...types,
    ...[undefined, "", "text/plain", "application/json; charset=utf-16", "multipart/form-data"],
  );
  const body = fc.oneof(
    fc.constantFrom("", "{", "null", "[]", '"text"', "1e999", '{"a":1,"a":2}', "\ufeff{}", "%%%"),
    fc.constantFrom('{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"x":1}}}'),
    fc.constantFrom("[".repeat(5_000), `{"a":`.repeat(500), `"${"x".repeat(200_000)}"`),
    oddValue.map((value) => JSON.stringify(value) ?? ""),
    oddText,
  );
  return fc.record({ type, body });
}
