import { readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import type { ExampleRequest, RecordedHttpExchange } from "../../src/openapi/exchanges.ts";

const FOLDER = new URL("../../src/openapi/fixtures/", import.meta.url);

/** Members whose values differ between runs, but are used consistently within one run. */
const VOLATILE: ReadonlySet<string> = new Set([
  ...["client_id", "client_secret", "registration_access_token", "code", "verification_uri"],
  ...["access_token", "subject", "id", "secret", "eventId", "challenge", "queueToken"],
  ...["reference", "kid", "x", "public_key", "requestId"],
]);

/** Members with a measured value or a time of the machine's clock. */
const MEASURED: ReadonlySet<string> = new Set([
  "client_id_issued_at",
  "engine",
  "latencyMs",
  "store",
  "queued",
]);

const HINT =
  "An answer is not what its example says. If it is meant to be, run with UPDATE_EXAMPLES=1.";

/** The parts of an OpenAPI document that are needed to build requests. */
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
}

interface DescribedOperation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

/**
 * A player of the recorded example requests: it sends them to a running service and compares the
 * answers.
 */
export interface Player {
  /** Sends the request of an example and compares the answer. @returns The answer. */
  play(id: string, name: string, token?: string): Promise<Readonly<Record<string, string>>>;
  /** Sends the example request that causes a problem, and compares the answer. */
  fail(code: string, token?: string): Promise<void>;
  /** Compares the payload of a webhook with its example. */
  deliver(type: string, body: unknown): void;
  /** Maps a value of the examples to the actual value of this run. */
  learn(example: string, actual: string): void;
  /** Examples that were not compared. */
  readonly left: () => readonly string[];
  /** Writes the received values into the example files. */
  keep(): void;
}

type Recorded = Record<string, unknown>;
interface Failure extends Omit<RecordedHttpExchange, "summary"> {
  readonly operation: string;
}

/**
 * Creates a player. Secrets and ids differ in every run: they may differ from the example if the
 * same example value always corresponds to the same actual value.
 *
 * @param base Base URL of the service.
 * @param isRecorded Whether the answers replace the examples instead of being compared with them.
 */
export function createPlayer(base: string, document: Described, isRecorded: boolean): Player {
  const files = new Map(
    ["access", "alerts", "market", "problems", "service", "webhooks"].map((name) => [
      name,
      JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8")) as Recorded,
    ]),
  );
  const fileOf = (name: string): Recorded => files.get(name) ?? {};
  const actualOf = new Map([["{baseUrl}", base]]);
  const done = new Set<unknown>();

  const toActual = <T>(value: T): T => replaced(value, [...actualOf]);
  const toExample = <T>(value: T): T =>
    replaced(
      value,
      [...actualOf].map(([example, actual]) => [actual, example]),
    );

  function settle(holder: Recorded, member: string, actual: unknown): void {
    for (const [example, now] of pairsIn(holder[member], actual)) {
      if (!actualOf.has(example)) actualOf.set(example, now);
    }
    done.add(holder);
    if (isRecorded) {
      holder[member] = withMeasuresOf(holder[member], toExample(actual));
      return;
    }
    expect(steady(actual), HINT).toEqual(steady(toActual(holder[member])));
  }

  async function send(id: string, exchange: Omit<RecordedHttpExchange, "summary">, token?: string) {
    const init = requestOf(document, id, toActual(exchange.request));
    const headers = { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) };
    const response = await fetch(base + init.target, { ...init, headers });
    const text = await response.text();
    const body = text === "" ? undefined : JSON.parse(text);
    expect(response.status, `${id}: ${text}`).toBe(exchange.status);
    settle(exchange as unknown as Recorded, "answer", body);
    return body;
  }

  function exchangeOf(id: string, name: string): RecordedHttpExchange {
    const found = [...files.values()].flatMap((file) => {
      const named = file[id] as Readonly<Record<string, RecordedHttpExchange>> | undefined;
      return named?.[name] ?? [];
    });
    if (found[0] === undefined) throw new Error(`no example ${name} of ${id}`);
    return found[0];
  }

  return {
    play: (id, name, token) => send(id, exchangeOf(id, name), token),
    async fail(code, token) {
      const exchange = fileOf("problems")[code] as Failure | undefined;
      if (exchange === undefined) throw new Error(`no example of ${code}`);
      await send(exchange.operation, exchange, token);
    },
    deliver(type, body) {
      const file = fileOf("webhooks");
      settle(file, type, body);
      done.add(type);
    },
    learn: (example, actual) => void actualOf.set(example, actual),
    left() {
      const exchanges = ["access", "alerts", "market", "service"].flatMap((name) =>
        Object.entries(fileOf(name)).flatMap(([id, named]) =>
          Object.entries(named as Recorded).map(([one, exchange]) => [`${id} ${one}`, exchange]),
        ),
      );
      const all = [
        ...exchanges,
        ...Object.entries(fileOf("problems")),
        ...Object.keys(fileOf("webhooks")).map((type) => [type, type]),
      ];
      return all.flatMap(([name, one]) => (done.has(one) ? [] : [String(name)]));
    },
    keep() {
      for (const [name, content] of files) {
        writeFileSync(
          new URL(`${name}.json`, FOLDER),
          `${JSON.stringify(toExample(content), null, 2)}\n`,
        );
      }
    },
  };
}

/** Builds the `fetch` options of an example request. */
function requestOf(document: Described, id: string, request: ExampleRequest) {
  const { path, method, operation } = placeOf(document, id);
  const query = Object.entries(request.query ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one): [string, string] => [name, String(one)]),
  );
  const search = query.length === 0 ? "" : `?${new URLSearchParams(query)}`;
  const [mediaType = ""] = Object.keys(operation.requestBody?.content ?? {});
  const { body } = request;
  return {
    target: path.replace(/\{(\w+)\}/g, (_, name) => request.path?.[name] ?? "") + search,
    method: method.toUpperCase(),
    redirect: "manual" as const,
    headers: { ...(body !== undefined && { "content-type": mediaType }), ...request.header },
    ...(body !== undefined && { body: bodyAs(mediaType, body) }),
  };
}

function placeOf({ paths }: Described, id: string) {
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (operation.operationId === id) return { path, method, operation };
    }
  }
  throw new Error(`no operation ${id}`);
}

const bodyAs = (mediaType: string, body: unknown): string =>
  mediaType === "application/json"
    ? JSON.stringify(body)
    : String(new URLSearchParams(body as Record<string, string>));

/**
 * Pairs of example value and actual value, for the volatile members that occur in both the example
 * and the answer.
 */
function pairsIn(
  example: unknown,
  actual: unknown,
  member = "",
): readonly (readonly [string, string])[] {
  if (typeof example === "string" && typeof actual === "string") {
    return VOLATILE.has(member) ? [[example, actual]] : [];
  }
  if (typeof example !== "object" || typeof actual !== "object" || !example || !actual) return [];
  return Object.entries(example).flatMap(([name, value]) =>
    pairsIn(value, (actual as Recorded)[name], name),
  );
}

/** Copies a value with every measured figure replaced by its type. */
function steady(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (name, one) => (MEASURED.has(name) ? typeof one : one)),
  );
}

/**
 * Copies a value, but keeps the measured figures of the old example, so that a new recording
 * differs only where something changed.
 */
function withMeasuresOf(before: unknown, value: unknown, member = ""): unknown {
  if (MEASURED.has(member) && before !== undefined) return before;
  if (typeof value !== "object" || value === null) return value;
  const inside = (name: string) => (before as Recorded | undefined)?.[name];
  const entries = Object.entries(value).map(([name, one]) => [
    name,
    withMeasuresOf(inside(name), one, name),
  ]);
  return Array.isArray(value) ? entries.map(([, one]) => one) : Object.fromEntries(entries);
}

/** Replaces strings within a value, the longest ones first. */
function replaced<T>(value: T, pairs: readonly (readonly [string, string])[]): T {
  if (value === undefined) return value;
  const longestFirst = pairs.toSorted(([a], [b]) => b.length - a.length);
  const text = longestFirst.reduce(
    (before, [from, to]) =>
      before.replaceAll(JSON.stringify(from).slice(1, -1), () => JSON.stringify(to).slice(1, -1)),
    JSON.stringify(value),
  );
  return JSON.parse(text) as T;
}
