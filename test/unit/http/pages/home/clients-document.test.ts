import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import serverJson from "../../../../../deploy/server.json" with { type: "json" };
import pkg from "../../../../../package.json" with { type: "json" };
import { SERVICE_SUMMARY } from "../../../../../src/answers/site.ts";
import { clientSetups } from "../../../../../src/http/pages/home/connect.ts";
import { paths } from "../../../../../src/lib/paths.ts";
import { fencedBlock } from "../../../../../wellknown/markdown.ts";

const FILE = new URL("../../../../../docs/clients.md", import.meta.url);
const MARK =
  "<!-- From here on UPDATE_DOCS=1 vitest run test/unit/http/pages/home/clients-document.test.ts writes. -->";

it("docs/clients.md contains the configurations of the home page (UPDATE_DOCS=1 rewrites them)", () => {
  const site = { baseUrl: "https://signals.example", anonymousScopes: ["signals:read"] } as const;
  const shown = clientSetups(site).map(
    ({ name, intro, code, language }) =>
      `## ${name}\n\n${intro}\n\n${fencedBlock(language, code)}\n`,
  );
  const [head = ""] = readFileSync(FILE, "utf8").split(MARK);
  const document = `${head}${MARK}\n\n${shown.join("\n")}`;
  if (process.env.UPDATE_DOCS === "1") writeFileSync(FILE, document);
  expect(readFileSync(FILE, "utf8")).toBe(document);
});

it("deploy/server.json describes an instance just as the instance describes itself", () => {
  const baseUrl = serverJson.websiteUrl.replace(/\/$/, "");
  const namespace = new URL(baseUrl).host.split(".").reverse().join(".");
  expect(serverJson).toMatchObject({
    name: `${namespace}/${pkg.name}`,
    version: pkg.version,
    description: SERVICE_SUMMARY,
    icons: [{ src: baseUrl + paths.icon }],
    remotes: [{ type: "streamable-http", url: baseUrl + paths.mcp }],
  });
  // Length limits in the MCP registry's schema of 2025-12-11.
  expect(serverJson.description.length).toBeLessThanOrEqual(100);
  expect(serverJson.title.length).toBeLessThanOrEqual(100);
});
