import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Site } from "../../../src/answers/site.ts";
import { jsonSchema } from "../../../src/lib/json-schema.ts";
import { openApiDocument } from "../../../src/openapi/document.ts";
import { allOperations } from "../../../src/openapi/operations/all-operations.ts";
import {
  routeOverridesOf,
  routesWithOverrides,
} from "../../../src/openapi/operations/tool-routes.ts";
import { referenceMarkdown } from "../../../src/openapi/reference-markdown.ts";
import { isAboutAlerts } from "../../../src/tool/tool.ts";
import { tools } from "../../../tools/index.ts";
import { discoveryDocuments } from "../../../wellknown/index.ts";

const site: Site = {
  baseUrl: "https://signals.example.org",
  name: "Market Signal and Verification Service",
  version: "1.0.0",
  anonymousScopes: ["signals:read"],
  market: "sandbox",
  mcp: { versions: ["2026-07-28"], capabilities: {} },
};

const render = (changes: Partial<Site> = {}) =>
  JSON.stringify(openApiDocument({ ...site, ...changes }, discoveryDocuments));

const routes = tools.flatMap((tool) => tool.routes.map((route) => ({ tool, route })));

describe("the OpenAPI document", () => {
  it("is identical whenever it is rendered for the same site", () => {
    expect(render()).toBe(render());
  });

  it("contains only URLs of its own site", () => {
    const [here, there] = [render(), render({ baseUrl: "http://127.0.0.1:1" })];
    expect(here.replaceAll(site.baseUrl, "http://127.0.0.1:1")).toBe(there);
    expect(here).not.toContain("{baseUrl}");
  });

  it("contains the version and name of the site, and states which market it serves", () => {
    expect(
      openApiDocument({ ...site, name: "N", version: "1.2.3" }, discoveryDocuments),
    ).toMatchObject({
      info: { title: "N", version: "1.2.3" },
    });
    expect(render()).toContain("invented instruments");
    expect(render({ market: "files" })).toContain("as of one instant");
  });

  it("does not mention self-registration when unclaimed agents have no scopes", () => {
    expect(render()).toContain("An agent registers itself");
    expect(render({ anonymousScopes: [] })).not.toContain("An agent registers itself");
  });
});

/** JSON Schema of a tool's answer, as published. */
interface ObjectSchema {
  readonly properties: Readonly<Record<string, object>>;
  readonly required: readonly string[];
}

describe("the statement about the members of all answers", () => {
  const OF_ALL = ["asOf", "market"];
  const answers = tools
    .filter((tool) => !isAboutAlerts(tool))
    // These tools report from the signal log and need no market data.
    .filter(({ name }) => name !== "verify_signal" && name !== "get_track_record")
    .flatMap(({ name, output }) => {
      const schemas = output instanceof z.ZodUnion ? output.options : [output];
      return schemas.map(
        (schema, at) => [`${name} ${at}`, publishedOf(schema as z.ZodType)] as const,
      );
    });
  const text = JSON.stringify(openApiDocument(site, discoveryDocuments).info);

  it("is included in the document", () => {
    expect(text).toContain(
      "Every answer about one instrument says `asOf`, `market` and `status`, with `detail=full` also `sources` and `methodVersion`. Lists of instruments say the same, with a `status` for each item.",
    );
    expect(answers.length).toBeGreaterThan(4);
  });

  it.each(answers)("is true for answer schema %s", (_name, { properties, required }) => {
    const { items } = properties as { items?: { items: ObjectSchema } };
    expect(required).toEqual(expect.arrayContaining(OF_ALL));
    expect((items?.items.required ?? required).includes("status")).toBe(true);
    expect(required.includes("status")).toBe(items === undefined);
  });
});

const publishedOf = (schema: z.ZodType) => jsonSchema(schema, "output") as unknown as ObjectSchema;

describe("the operations of the OpenAPI document", () => {
  it("have unique ids", () => {
    const ids = allOperations(discoveryDocuments).map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    expect(ids.filter((id) => !/^[a-z]+(_[a-z]+)*$/.test(id))).toEqual([]);
  });

  it("are distinguished by notes when a tool has several routes, and the notes refer only to existing routes", () => {
    const names = routes.map(({ route: { method, path } }) => `${method} ${path}`);
    expect(routesWithOverrides.filter((name) => !names.includes(name))).toEqual([]);
    const several = routes.filter(({ tool }) => tool.routes.length > 1);
    const unnoted = several.filter(
      ({ route }) => Object.keys(routeOverridesOf(route)).length === 0,
    );
    const byTool = Object.groupBy(unnoted, ({ tool }) => tool.name);
    expect(Object.values(byTool).filter((some = []) => some.length > 1)).toEqual([]);
  });

  it.each(routes.map(({ tool, route }) => [`${route.method} ${route.path}`, tool, route] as const))(
    "at %s use only input members of the tool",
    (_name, { input, output }, route) => {
      const { inputs = [], outputs = [] } = routeOverridesOf(route);
      expect(inputs.filter((name) => !Object.hasOwn(input.shape, name))).toEqual([]);
      const inPath = Array.from(route.path.matchAll(/\{(\w+)\}/g), ([, name]) => name);
      expect(inPath.filter((name) => !Object.hasOwn(input.shape, name ?? ""))).toEqual([]);
      const most = "options" in output ? output.options.length : 1;
      expect(outputs.filter((place) => place >= most)).toEqual([]);
    },
  );
});

describe("the Markdown API reference", () => {
  const text = referenceMarkdown(site, discoveryDocuments);

  it("lists every operation, parameter and specific error in less than 36 kB", () => {
    expect(text).toContain("`GET /api/signals`");
    expect(text).toContain("- Query: `symbol` (string), `symbols` (list of string)");
    expect(text).toContain("- Path: `id`* (string)");
    expect(text).toContain("- Failures: 404 `not_found`; 409 `wrong_state`");
    expect(text).toContain("`cooldownDays`* (number?)");
    expect(text.length).toBeLessThan(36 * 1024);
  });

  it("refers to an extended schema instead of repeating its members", () => {
    expect(text).toContain("- **AlertDetail**: as Alert, and `failures`*");
    expect(text).toContain("- **OAuthProblem**: as Problem, and `error`*");
    expect(text).toContain(
      "- **RangeAlertEvent**: `type`* (range.alert), `timestamp`* (date-time), `data`* ({all of InstrumentEvent, reason,",
    );
    expect(text).toContain("`items`* (list of {all of Alert, madeBy})");
    expect(text.match(/^- \*\*Alert\*\*: `id`\* \(string\)/gm)).toHaveLength(1);
  });

  it("closes every code span and contains no unresolved value", () => {
    expect((text.match(/`/g) ?? []).length % 2).toBe(0);
    expect(text.match(/^#{1,3} /gm)?.[0]).toBe("# ");
    expect(text).not.toMatch(/undefined|\[object/);
  });
});
