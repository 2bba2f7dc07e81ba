import { describe, expect, it } from "vitest";
import { allScopes, type Scope } from "../../src/auth/scopes.ts";
import { newToken } from "../support/agent.ts";
import { startTown } from "../support/town.ts";

interface Operation {
  readonly operationId: string;
  readonly security: readonly { readonly oauth2?: readonly Scope[] }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

const town = await startTown();
const { base } = town;
const document = (await (await fetch(`${base}/docs/api/openapi.json`)).json()) as Document;

/** An operation and where it is. */
interface Described {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

const described: readonly Described[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path: path.replace("{version}", "1.0.0").replace(/\{\w+\}/g, "x"),
    operation,
  })),
);

/** Codes of the problems that an operation can have with a status. */
const codesOf = ({ operation }: Described, status: number): readonly string[] =>
  operation.responses[status]?.$ref?.split("/").at(-1)?.split(".") ?? [];

const withProblem = (status: number, code: string) =>
  described.filter((one) => codesOf(one, status).includes(code));

const scopesOf = ({ operation }: Described): readonly Scope[] =>
  operation.security.flatMap(({ oauth2 = [] }) => oauth2);

const person = town.person();
const key = await person.createKey(allScopes);
const reader = await newToken(base, { scope: "signals:read" });
const other = await newToken(base, { scope: "factor:read" });

function send({ method, path }: Described, init: RequestInit = {}, query = ""): Promise<Response> {
  return fetch(base + path + query, { method, redirect: "manual", ...init });
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const JSON_TYPE = { "content-type": "application/json" };

/** Status and code of a problem. */
async function problemOf(response: Response): Promise<string> {
  expect(response.headers.get("content-type")).toContain("application/problem+json");
  const { code } = (await response.json()) as { readonly code: string };
  return `${response.status} ${code}`;
}

const takesBody = ({ method }: Described): boolean => method === "POST" || method === "PATCH";

/** What else a request has to say so that nothing but its id is wrong. */
const asked: Readonly<Record<string, { readonly query?: string; readonly body?: object }>> = {
  get_alert_events: { query: "?alertId=alert_0000000000000000" },
  update_alert: { body: { label: "Mine" } },
  redeliver_alert_events: { body: { since: "2026-11-21T00:00:00Z" } },
};

const nameOf = ({ operation }: Described) => operation.operationId;

describe("a failure that the description knows", () => {
  it.each(withProblem(401, "unauthenticated").map((one) => [nameOf(one), one] as const))(
    "of %s without a credential",
    async (_name, one) => {
      const response = await send(one);
      expect(response.headers.get("www-authenticate")).toContain("resource_metadata=");
      expect(await problemOf(response)).toBe("401 unauthenticated");
    },
  );

  const scoped = withProblem(403, "insufficient_scope").filter((one) => scopesOf(one).length > 0);

  it.each(scoped.map((one) => [nameOf(one), one] as const))(
    "of %s without its scope",
    async (_name, one) => {
      const token = scopesOf(one).includes("signals:read") ? other : reader;
      expect(await problemOf(await send(one, { headers: bearer(token) }))).toBe(
        "403 insufficient_scope",
      );
    },
  );

  const wrong = withProblem(400, "invalid_request").filter(
    ({ operation }) => operation.operationId !== "call_mcp",
  );

  it.each(wrong.map((one) => [nameOf(one), one] as const))(
    "of %s with what it does not take",
    async (_name, one) => {
      const hasBody = takesBody(one);
      const body = hasBody ? { body: JSON.stringify({ email: "x", cursor: 1, nonsense: 1 }) } : {};
      const query = hasBody ? "" : `?nonsense=1&cursor=${"x".repeat(201)}`;
      const headers = { ...bearer(key), ...(hasBody && JSON_TYPE) };
      expect(await problemOf(await send(one, { headers, ...body }, query))).toBe(
        "400 invalid_request",
      );
    },
  );

  it.each(withProblem(415, "unsupported_media_type").map((one) => [nameOf(one), one] as const))(
    "of %s with a body of another type",
    async (_name, one) => {
      const headers = { ...bearer(key), "content-type": "text/plain" };
      const response = await send(one, { headers, body: "x" });
      expect(await problemOf(response)).toBe("415 unsupported_media_type");
    },
  );

  it.each(withProblem(413, "content_too_large").map((one) => [nameOf(one), one] as const))(
    "of %s with a body that is too large",
    async (_name, one) => {
      const isForm = one.path === "/oauth/token" || one.path === "/oauth/revoke";
      const type = isForm ? "application/x-www-form-urlencoded" : "application/json";
      const headers = { ...bearer(key), "content-type": type };
      const response = await send(one, { headers, body: `"${"x".repeat(200_000)}"` });
      expect(await problemOf(response)).toBe("413 content_too_large");
    },
  );

  it.each(withProblem(404, "not_found").map((one) => [nameOf(one), one] as const))(
    "of %s with an id that leads nowhere",
    async (name, one) => {
      const path = one.path.replace("/1.0.0", "/9.9.9");
      const { query = "", body = {} } = asked[name] ?? {};
      const response = await send(
        { ...one, path },
        takesBody(one)
          ? { headers: { ...bearer(key), ...JSON_TYPE }, body: JSON.stringify(body) }
          : { headers: bearer(key) },
        query,
      );
      expect(await problemOf(response)).toBe("404 not_found");
    },
  );
});
