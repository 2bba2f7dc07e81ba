// @module-tag full

import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import createClient from "openapi-fetch";
import { describe, expect, it, onTestFinished } from "vitest";
import { parseCheckpoint } from "../../src/tree/checkpoint.ts";
import { startReceiver } from "../support/receivers.ts";
import { startTestService } from "../support/test-service.ts";

type Json = Readonly<Record<string, unknown>>;

/** The parts of an OpenAPI document that a client uses. */
interface Document extends Json {
  readonly servers: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, unknown>>;
}

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly example?: unknown;
  readonly schema: { readonly examples?: readonly unknown[] };
}

interface Content {
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}

const testService = await startTestService({ ALLOW_INSECURE_WEBHOOKS: "1" });
const document = (await (
  await fetch(`${testService.base}/docs/api/openapi.json`)
).json()) as Document;

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addFormat("base64url", /^[\w-]*$/);
ajv.addSchema({ $id: "described", ...document });

/** A client that knows only the paths, methods and parameters of the document. */
const client = createClient<Record<string, never>>({ baseUrl: document.servers[0]?.url ?? "" });

/** Method and path of each operation, by operationId. */
const places = new Map(
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, operation]) => [operation.operationId, { path, method, operation }] as const,
    ),
  ),
);

/** Input of a call that replaces the example in the document. */
interface Said {
  readonly token?: string;
  readonly path?: Json;
  readonly query?: Json;
  readonly body?: Json;
}

/**
 * Calls an operation with its documented example and the given changes.
 * @returns The answer, after validation against its documented schema.
 */
async function call(id: string, said: Said = {}, wanted = 200): Promise<Record<string, string>> {
  const place = places.get(id);
  if (place === undefined) throw new Error(`${id} is not described`);
  const { path, method, operation } = place;
  const [mediaType, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const [example] = Object.values(content?.examples ?? {});
  const { data, error, response } = await client.request(
    method as "get",
    path as never,
    {
      params: {
        path: { ...examplesIn(operation, "path"), ...said.path },
        query: said.query ?? examplesIn(operation, "query"),
      },
      headers: {
        ...(said.token && { authorization: `Bearer ${said.token}` }),
        "content-type": mediaType,
      },
      body: content && { ...(said.body ?? example?.value) },
      bodySerializer: (body: Record<string, string>) =>
        mediaType === "application/json" ? JSON.stringify(body) : new URLSearchParams(body),
      parseAs: parserOf(operation),
    } as never,
  );
  const answer = data ?? error;
  expect(response.status, `${id}: ${JSON.stringify(answer)}`).toBe(wanted);
  expectDescribed(place, response, answer);
  return answer as Record<string, string>;
}

/** Chooses how to parse the answer of an operation by its documented media type. */
function parserOf({ responses }: Operation): "json" | "text" {
  const { content = {} } = (responses[200] ?? {}) as { readonly content?: Json };
  const [mediaType = "application/json"] = Object.keys(content);
  return /\bjson\b/.test(mediaType) ? "json" : "text";
}

/** Example values of the parameters in one location, such as path or query. */
function examplesIn({ parameters = [] }: Operation, place: Parameter["in"]): Json {
  const entries = parameters.flatMap(({ name, in: where, example, schema }) => {
    const value = example ?? schema.examples?.[0];
    return where === place && value !== undefined ? [[name, value]] : [];
  });
  return Object.fromEntries(entries);
}

function expectDescribed(
  { path, method }: { readonly path: string; readonly method: string },
  response: Response,
  answer: unknown,
): void {
  const [type] = (response.headers.get("content-type") ?? "").split(";");
  if (!type) return;
  const steps = ["paths", path, method, "responses", String(response.status)];
  const at = steps.map((step) => `/${encodeURIComponent(step.replaceAll("/", "~1"))}`).join("");
  const found = (document.paths[path]?.[method]?.responses[response.status] ?? {}) as Json;
  const start = typeof found.$ref === "string" ? found.$ref.slice(1) : at;
  const validate = ajv.compile({
    $ref: `described#${start}/content/${encodeURIComponent(type.replaceAll("/", "~1"))}/schema`,
  });
  expect(validate(answer), ajv.errorsText(validate.errors)).toBe(true);
}

/** Registers the agent of the documented example. @returns The registration. */
async function registered() {
  const agent = await call("register_client", {}, 201);
  return agent as typeof agent & { readonly claim: never };
}

const tokenFor = ({ client_id, client_secret }: Record<string, string>) =>
  call("get_token", {
    body: { grant_type: "client_credentials", client_id, client_secret },
  });

/** Polls until a condition holds. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo()));
}

describe("a client generated from the OpenAPI document", () => {
  it("registers, gets a token, reads everything, and deletes its registration", async () => {
    const agent = await registered();
    const { access_token: token = "" } = await tokenFor(agent);
    const reads = [...places.values()].filter(
      ({ method, path, operation }) =>
        method === "get" &&
        !path.startsWith("/api/alerts") &&
        operation.security.some(({ oauth2 = [] }) => /^(?!alerts).+:read$/.test(oauth2.join())),
    );
    expect(reads.map(({ operation }) => operation.operationId)).toEqual([
      "get_signal",
      "get_factors",
      "get_darkpool",
      "verify_signal",
      "get_track_record",
      "find_instruments",
      "export_panel",
      "get_method",
      "get_log_entries",
      "get_log_proof",
    ]);
    const { size } = parseCheckpoint((await call("get_log_checkpoint")) as never);
    const last: Readonly<Record<string, Said>> = {
      verify_signal: { query: { index: size - 1 } },
      get_log_entries: { path: { bundle: `000.p/${size}` } },
      get_log_proof: { path: { index: size - 1 } },
    };
    for (const { operation } of reads) {
      await call(operation.operationId, { token, ...last[operation.operationId] });
    }
    await call("get_log_keys");
    await call("get_log_tile", { path: { tile: `0/000.p/${size}` } });
    await call("get_log_consistency", { query: { from: 1, to: size } });

    await call("revoke_token", { body: { token } });
    await call("get_signal", { token }, 401);
    const own = { path: { client_id: agent.client_id }, token: agent.registration_access_token };
    await call("get_client", own as never);
    await call("delete_client", own as never, 204);
  });

  it("reads health and the public resources", async () => {
    for (const id of ["get_health", "get_readiness", "get_webhook_keys", "get_jwks"])
      await call(id);
    await call("apply");
    await call("contact");
    await call("get_signal", {}, 401);
  });

  it("creates an alert, verifies its webhook, manages it, and deletes it", async () => {
    const receiver = await startReceiver();
    onTestFinished(receiver.close);
    const agent = await registered();
    await testService.person().claim(agent.client_id ?? "", (agent.claim as { code: string }).code);
    const { access_token: token = "" } = await tokenFor(agent);

    const delivery = { type: "webhook", url: receiver.url };
    const made = await call(
      "register_alert",
      { token, body: { symbols: ["ALDER.SIM"], delivery } },
      201,
    );
    const alert = { token, path: { id: made.id } };
    testService.clock.now = new Date(testService.clock.now.getTime() + 5_000);
    await receiver.arrived(1);
    await until(async () => (await call("get_alert", alert)).status === "active");
    expect(await call("list_alerts", { token })).toMatchObject({ items: [{ id: made.id }] });
    expect(await call("update_alert", { ...alert, body: { label: "Mine" } })).toMatchObject({
      label: "Mine",
    });
    const { eventId } = await call("test_alert", alert);
    const [, test] = await receiver.arrived(2);
    expect(test?.id).toBe(eventId);
    const { secret } = await call("rotate_alert_secret", alert);
    expect(secret).not.toBe(made.secret);
    await call("redeliver_alert_events", { ...alert, body: { since: "2026-11-21T00:00:00Z" } });
    await call("get_alert_deliveries", { token, path: { alertId: made.id } });
    await call("get_alert_events", { token, query: { alertId: made.id } });
    await call("delete_alert", alert);
    expect(await call("get_alert", alert, 404)).toMatchObject({ code: "not_found" });
  });
});
