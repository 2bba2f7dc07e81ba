import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { tools } from "../../tools/index.ts";
import { connectMcp } from "../support/mcp.ts";
import { sharedTestService } from "../support/test-service.ts";
import { verifies } from "../support/verifies.ts";

type Json = Readonly<Record<string, unknown>>;

interface Body {
  readonly schema: Json;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Response {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Body>>;
}

interface Operation {
  readonly operationId: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Json & { readonly name: string; readonly schema: Json })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Body>> };
  readonly responses: Readonly<Record<string, Response>>;
}

interface Document extends Json {
  readonly openapi: string;
  readonly info: { readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly schemas: {
      readonly AcceptedApplication: { readonly properties: { readonly data: Members } };
    };
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: {
      readonly oauth2: { readonly flows: Readonly<Record<string, { readonly scopes: Json }>> };
    };
  };
}

const testService = await sharedTestService();
const { base } = testService;
const address = `${base}/docs/api/openapi.json`;
const document = (await (await fetch(address)).json()) as Document;

/** All documented operations, with method and path. */
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
);

const operationAt = (name: string): Operation => {
  const found = described.find(({ path, method }) => `${method.toUpperCase()} ${path}` === name);
  if (found === undefined) throw new Error(`${name} is not described`);
  return found.operation;
};

/** Pages for people and their assets, which the OpenAPI document omits. */
const PAGES =
  /^\/(?:$|contact$|apply$|track-record$|market\/|assets\/|operator$|docs\/api\/oauth2-redirect|sign-|claim|account|unsubscribe\/|oauth\/(?:interaction|authorize)\/)/;

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addFormat("base64url", /^[\w-]*$/);

describe("the OpenAPI document", () => {
  verifies(
    ["4.10/openapi", "9/openapi", "9/version", "9/paths"],
    "is OpenAPI 3.1.0 for API version 1.0.0, with no version in the paths",
    async () => {
      const response = await fetch(address);
      expect(response.headers.get("content-type")).toContain("application/vnd.oai.openapi+json");
      expect(document.openapi).toBe("3.1.0");
      expect(document.info.version).toBe("1.0.0");
      expect(document.info.description).toMatch(/only add.*`Deprecation`.*`Sunset`/s);
      const versioned = Object.keys(document.paths).filter((path) => /\/v\d/.test(path));
      expect(versioned).toEqual([]);
    },
  );

  it("describes every route except the pages, and no other route", () => {
    const served = testService.service.routes
      .filter(({ path }) => !PAGES.test(path))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const names = described.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    const snake = (name: string) => name.replace("{client_id}", "{clientId}");
    expect(names.map(snake).toSorted()).toEqual(served.toSorted());
  });

  verifies("5.3/flows-described", "lists the scopes of each flow", () => {
    const { flows } = document.components.securitySchemes.oauth2;
    const scopesOf = (flow: string) => Object.keys(flows[flow]?.scopes ?? {});
    const read = ["signals:read", "factor:read", "darkpool:read"];
    expect(scopesOf("clientCredentials")).toEqual(read);
    expect(scopesOf("authorizationCode")).toEqual([...read, "alerts:write"]);
    expect(flows).toMatchObject({
      clientCredentials: { tokenUrl: `${base}/oauth/token` },
      authorizationCode: {
        authorizationUrl: `${base}/oauth/authorize`,
        tokenUrl: `${base}/oauth/token`,
      },
    });
  });

  verifies(
    ["2.2/described", "2.2/optional"],
    "lists the members of an accepted application",
    () => {
      const { data } = document.components.schemas.AcceptedApplication.properties;
      const names = ["queueToken", "name", "email", "focus", "registeredAt"];
      // `credential`, which states how to use the token, follows these five members. Only three of the
      // members are required.
      expect(Object.keys(data.properties)).toEqual([...names, "credential"]);
      expect(data.required).toEqual(["queueToken", "name", "email"]);
    },
  );

  verifies("5.4/3-described", "declares no security for operations that need no credential", () => {
    for (const name of [
      "GET /api/health",
      "POST /api/apply",
      "POST /api/contact",
      "POST /oauth/register",
      "POST /oauth/token",
    ]) {
      expect(operationAt(name).security, name).toEqual([]);
    }
  });

  it("states the required scope of every tool as the tool definition does", () => {
    for (const { scopes, routes } of tools) {
      for (const { method, path } of routes) {
        expect(operationAt(`${method} ${path}`).security).toEqual([
          { oauth2: scopes },
          { openIdConnect: scopes },
          { bearer: [] },
          { apiKey: [] },
        ]);
      }
    }
  });

  it("contains no URL of another host except placeholder hosts, and has unique operation ids", () => {
    const text = JSON.stringify(document).replaceAll(base, "");
    expect(text.match(/https?:\/\/(?!hooks\.example|agent\.example|elsewhere\.)[^"\\ )]+/g)).toBe(
      null,
    );
    expect(text).not.toContain("{baseUrl}");
    const ids = described.map(({ operation }) => operation.operationId);
    expect(ids).toEqual([...new Set(ids)]);
  });
});

/**
 * The document with object schemas that forbid additional members. The validator knows the original
 * as `described` and this version as `closed`.
 */
const closed = withClosedObjects(document) as Document;
ajv.addSchema({ $id: "described", ...document });
ajv.addSchema({ $id: "closed", ...closed });

/**
 * Forbids additional members in every object schema that does not define `additionalProperties`.
 */
function withClosedObjects(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(withClosedObjects);
  if (typeof part !== "object" || part === null) return part;
  const members = Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === "example" || name === "examples" ? value : withClosedObjects(value),
    ]),
  );
  const isObject = members.type === "object" && members.properties !== undefined;
  return isObject ? { additionalProperties: false, ...members } : members;
}

/** A JSON pointer into the document (RFC 6901), as a URL fragment. */
const pointer = (...steps: readonly string[]): string =>
  steps
    .map((step) => `/${encodeURIComponent(step.replace(/~/g, "~0").replace(/\//g, "~1"))}`)
    .join("");

/** Lists bodies with their locations in the document. */
function bodiesOf(at: string, content: Readonly<Record<string, Body>> = {}) {
  return Object.entries(content).map(([mediaType, body]) => ({
    place: at + pointer("content", mediaType),
    body,
  }));
}

const operationPlaces = [
  ...described.map(({ path, method, operation }) => ({
    at: pointer("paths", path, method),
    operation,
  })),
  ...Object.entries(document.webhooks).map(([type, { post }]) => ({
    at: pointer("webhooks", type, "post"),
    operation: post,
  })),
];

const requests = operationPlaces.flatMap(({ at, operation }) =>
  bodiesOf(at + pointer("requestBody"), operation.requestBody?.content),
);
const answers = [
  ...operationPlaces.flatMap(({ at, operation }) =>
    Object.entries(operation.responses).flatMap(([status, { content }]) =>
      bodiesOf(at + pointer("responses", status), content),
    ),
  ),
  ...Object.entries(document.components.responses).flatMap(([name, { content }]) =>
    bodiesOf(pointer("components", "responses", name), content),
  ),
];

function faultsOf(base: "described" | "closed", bodies: typeof answers): readonly string[] {
  return bodies.flatMap(({ place, body }) => {
    const validate = ajv.compile({ $ref: `${base}#${place}/schema` });
    return Object.entries(body.examples ?? {}).flatMap(([name, { value }]) =>
      validate(value) ? [] : `${place} ${name}: ${ajv.errorsText(validate.errors)}`,
    );
  });
}

describe("the examples of the OpenAPI document", () => {
  it("are valid requests and answers", () => {
    expect(faultsOf("described", requests)).toEqual([]);
    expect(faultsOf("described", answers)).toEqual([]);
  });

  it("have no undocumented members", () => {
    expect(faultsOf("closed", answers)).toEqual([]);
  });

  it("exist for every operation with a JSON body, except for get_method", () => {
    const isBare = ({ operation: { requestBody, responses } }: (typeof described)[number]) => {
      const answered = Object.entries(responses).find(([status]) => status.startsWith("2"));
      const bodies = [requestBody?.content, answered?.[1].content];
      return bodies.some((content) => {
        const body = content?.["application/json"];
        return body?.schema.$ref !== undefined && body.examples === undefined;
      });
    };
    const bare = described.filter(isBare).map(({ operation }) => operation.operationId);
    expect(bare).toEqual(["get_method"]);
  });

  it("match the documented parameters", () => {
    const faults = described.flatMap(({ operation: { operationId, parameters = [] } }) =>
      parameters.flatMap(({ name, schema, example }) =>
        example === undefined || ajv.validate(schema, example) ? [] : `${operationId} ${name}`,
      ),
    );
    expect(faults).toEqual([]);
  });
});

interface Members {
  readonly properties: object;
  readonly required: readonly string[];
}

/** Numbers from `least` to `most`, `step` apart. */
const grid = (least: number, most: number, step: number): readonly number[] =>
  Array.from({ length: Math.round((most - least) / step) + 1 }, (_, at) =>
    Number((least + at * step).toFixed(2)),
  );

describe("every number that the service accepts satisfies the published schema", async () => {
  const key = await testService.person().createKey(["signals:read"]);
  const { tools: listed } = await (await connectMcp(base, key)).listTools();
  const published = new Map(listed.map(({ name, inputSchema }) => [name, inputSchema as Json]));
  const schemaAt = (name: string): Json =>
    operationAt(name).requestBody?.content["application/json"]?.schema as Json;
  const byRest = { register_alert: "POST /api/alerts", manage_alert: "PATCH /api/alerts/{id}" };
  const numbers = {
    scoreMove: grid(5, 50, 1),
    volatilityZ: grid(1.5, 4, 0.1),
    cooldownDays: grid(0.25, 30, 0.25),
  };

  it.each(tools.filter(({ name }) => name in byRest))("of $name", ({ name, input }) => {
    const id = "alert_0000000000000000";
    const base = name === "manage_alert" ? { id } : { symbols: ["ALDER.SIM"] };
    const validMcp = ajv.compile(published.get(name) ?? false);
    const validRest = ajv.compile(schemaAt(byRest[name as keyof typeof byRest]));
    for (const [member, values] of Object.entries(numbers)) {
      for (const value of values) {
        const { id: _, ...body } = { id, ...base, [member]: value };
        const sent = { ...base, [member]: value };
        const taken = [input.safeParse(sent).success, validMcp(sent), validRest(body)];
        expect(taken, `${member} ${value}`).toEqual([true, true, true]);
      }
      const between = (values[0] ?? 0) + 0.07;
      expect(input.safeParse({ ...base, [member]: between }).success, member).toBe(false);
    }
  });
});
