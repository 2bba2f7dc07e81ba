import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { allScopes, anonymousScopeCeiling } from "../../../../../src/access/scopes.ts";
import { type ClientSetup, clientSetups } from "../../../../../src/http/pages/home/connect.ts";
import { homeMarkdown } from "../../../../../src/http/pages/home/home-routes.ts";
import { allOperations } from "../../../../../src/openapi/operations/all-operations.ts";
import { tools } from "../../../../../tools/index.ts";
import { getWith, postForm, postJson, type RegisteredAgent } from "../../../../support/agent.ts";
import { startTestService } from "../../../../support/test-service.ts";
import { sites } from "../../../wellknown/sites.ts";

const testService = await startTestService();
const { base } = testService;
const clients = clientSetups({ baseUrl: base, anonymousScopes: anonymousScopeCeiling });

function client(name: string, of = clients): ClientSetup {
  const found = of.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no client ${name}`);
  return found;
}

const run = promisify(execFile);

/** Runs the commands of a client in a shell whose environment contains only PATH and `env`. */
const sh = (code: string, env: Readonly<Record<string, string>> = {}) =>
  run("sh", ["-c", code], { env: { PATH: process.env.PATH ?? "", ...env } });

/**
 * Parses a TOML configuration of one table with string values. @throws {Error} For any other TOML
 * syntax.
 */
function readToml(text: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const [head = "", ...lines] = text.split("\n");
  const [, table] = /^\[([\w-]+(?:\.[\w-]+)*)\]$/.exec(head) ?? [];
  if (table === undefined) throw new Error(`no table: ${head}`);
  const pairs = lines.map((line) => {
    const [, key, value] = /^([\w-]+) = ("(?:[^"\\]|\\["\\])*")$/.exec(line) ?? [];
    if (key === undefined || value === undefined) throw new Error(`no pair: ${line}`);
    return [key, JSON.parse(value)];
  });
  return { [table]: Object.fromEntries(pairs) };
}

describe("the displayed configuration of an MCP client", () => {
  it.each(clients)(
    "for $name is complete, and states how the client gets its token",
    ({ intro, code }) => {
      expect(intro).toMatch(/\b(?:token|key)\b/);
      expect(intro).toMatch(/\.$/);
      expect(code.trim()).toBe(code);
      expect(code).toContain(base);
    },
  );

  it("is in the format of each client program", () => {
    const url = `${base}/mcp`;
    const json = (name: string) => JSON.parse(client(name).code);
    expect(json("Cursor")).toEqual({ mcpServers: { "market-signal": { url } } });
    expect(json("VS Code")).toEqual({ servers: { marketSignal: { type: "http", url } } });
    expect(json("Gemini CLI")).toEqual({ mcpServers: { "market-signal": { httpUrl: url } } });
    expect(readToml(client("OpenAI Codex").code)).toEqual({
      "mcp_servers.market-signal": { url },
    });
    expect(client("Claude Desktop and claude.ai").code).toBe(url);
    expect(client("Claude Code").code).toBe(`claude mcp add --transport http market-signal ${url}`);
    expect(clients.map(({ language }) => language)).toEqual(
      ["shell", "text", "json", "json", "toml", "json", "yaml", "json", "shell"], // In their order.
    );
    expect(client("Goose").code.split("\n").slice(0, 6)).toEqual([
      ...[
        "extensions:",
        "  market-signal:",
        "    type: streamable_http",
        "    name: market-signal",
      ],
      ...["    enabled: true", `    uri: "${url}"`],
    ]);
  });

  it("leads to OAuth discovery for clients that register themselves", async () => {
    const { url } = JSON.parse(client("Cursor").code).mcpServers["market-signal"];
    const refused = await postJson(url, { jsonrpc: "2.0", id: 1, method: "tools/list" });
    const challenge = refused.headers.get("www-authenticate") ?? "";
    const [, metadata = ""] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const resource = await (await fetch(metadata)).json();
    expect([refused.status, resource]).toEqual([401, expect.objectContaining({ resource: url })]);
    const [issuer] = (resource as { authorization_servers: string[] }).authorization_servers;
    const found = await fetch(`${issuer}/.well-known/oauth-authorization-server`);
    expect(await found.json()).toMatchObject({
      registration_endpoint: expect.stringContaining(base),
      code_challenge_methods_supported: ["S256"],
    });
  });

  it("works with an API key for clients that need one", async () => {
    const { code, intro } = client("Other clients, with an API key");
    const key = await testService.person().createKey(["signals:read"]);
    const { url, headers } = JSON.parse(code.replace("YOUR_API_KEY", key)).mcpServers[
      "market-signal"
    ];
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const accept = "application/json, text/event-stream";
    expect((await postJson(url, list, { accept, ...headers })).status).toBe(200);
    expect(intro).toContain(`${base}/account `);
  });
});

describe("the displayed shell commands", () => {
  it("register an agent, get a token and call a tool when run unchanged", async () => {
    const { stdout, stderr } = await sh(client("curl").code);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/"symbol":"\w+\.SIM"/);
    expect(stdout).not.toContain('"isError":true');
  });

  it.each(["factor:read", "darkpool:read"] as const)(
    "request data for which the scope %s alone is sufficient",
    async (scope) => {
      const { base: baseUrl } = await startTestService({ ANONYMOUS_SCOPES: scope });
      const { code } = client("curl", clientSetups({ baseUrl, anonymousScopes: [scope] }));
      const { stdout, stderr } = await sh(code);
      expect([stderr, stdout]).toEqual(["", expect.stringContaining('"name":"get_signal"')]);
    },
  );

  it("use an API key if one is set, and then register no agent", async () => {
    const { code, intro } = client("curl");
    const [, variable = ""] = /set (\w+) to it first/.exec(intro) ?? [];
    const key = await testService.person().createKey(["signals:read"]);
    const { stdout } = await sh(code.replace("/oauth/register", "/nowhere"), { [variable]: key });
    expect(stdout).toContain('"symbol"');
  });

  it("require an API key and say so if unclaimed agents have no scopes", async () => {
    const closed = await startTestService({ ANONYMOUS_SCOPES: " " });
    const { code, intro } = client(
      "curl",
      clientSetups({ baseUrl: closed.base, anonymousScopes: [] }),
    );
    await expect(sh(code)).rejects.toMatchObject({ stderr: expect.stringContaining("401") });
    const [, variable = ""] = /Set (\w+) to an API key first/.exec(intro) ?? [];
    const key = await closed.person().createKey(["signals:read"]);
    expect((await sh(code, { [variable]: key })).stdout).toContain('"symbol"');
  });

  it("use the same environment variable as the Codex configuration", () => {
    const [, variable] = /set (\w+) to it first/.exec(client("curl").intro) ?? [];
    expect(client("OpenAI Codex").intro).toContain(`bearer_token_env_var = "${variable}"`);
  });
});

/**
 * Status of a GET with an API key and without parameters: of an operation as the table of operations
 * describes it, 200 for any other page.
 */
function statusOfGet(address: string): number {
  const { pathname } = new URL(address);
  const operations = allOperations([]).filter(({ path }) => path === pathname);
  const get = operations.find(({ method }) => method === "get");
  if (get === undefined) return operations.length === 0 ? 200 : 405;
  const takesKey = typeof get.access === "object" && "scopes" in get.access;
  if (get.access !== "public" && !takesKey) return 401;
  return (get.query ?? z.object()).safeParse({}).success ? 200 : 400;
}

describe("the home page in Markdown", () => {
  const { ordinary } = sites;
  const markdown = homeMarkdown({ ...ordinary, baseUrl: base });

  it("states what the service is, how to start and what it offers, in this order", () => {
    expect(markdown.match(/^#+ .*$/gm)).toEqual([
      ...[
        "# Market Signal and Verification Service",
        "## Start",
        "## Access",
        "## Interface",
        "## REST beside the tools",
        "## Optional",
      ],
      ...["## Connect a client", ...clients.map(({ name }) => `### ${name}`), "## People"],
    ]);
    expect(markdown).toMatch(
      /^# Market Signal and Verification Service\n\n> .*Not investment advice\.\n/,
    );
    for (const { name } of tools) expect(markdown).toMatch(new RegExp(`^- \`${name}\` \\(`, "m"));
    for (const { code } of clients) expect(markdown).toContain(`\n${code}\n\`\`\`\n`);
    expect(markdown).not.toContain("\n\n\n");
  });

  it("leads to a tool request in three steps", async () => {
    const [, register = "", body = ""] =
      /^1\. .*`POST (\S+)` with `(\{.*\})`/m.exec(markdown) ?? [];
    const registered = await postJson(register, JSON.parse(body));
    const { client_id, client_secret, scope } = (await registered.json()) as RegisteredAgent & {
      readonly scope: string;
    };
    expect(markdown).toContain(`It grants \`${scope}\`.`);
    const [, token = "", grant_type = ""] =
      /^2\. .*`POST (\S+)` with `grant_type=(\w+)`/m.exec(markdown) ?? [];
    const answer = await postForm(token, { grant_type, client_id, client_secret });
    const { access_token } = (await answer.json()) as { access_token: string };
    const [, endpoint = ""] = /^3\. Call (\S+) /m.exec(markdown) ?? [];
    const called = await postJson(
      endpoint,
      { jsonrpc: "2.0", id: 1, method: "tools/list" },
      { accept: "application/json, text/event-stream", authorization: `Bearer ${access_token}` },
    );
    expect(called.status).toBe(200);
  });

  it("has no broken links", async () => {
    const prose = markdown.replace(/^```.*?^```$/gms, "");
    const links = Array.from(prose.matchAll(/https?:\/\/[^\s)`"]+/g), ([link]) => link);
    const addresses = [...new Set(links.map((link) => link.replace(/[.,]$/, "")))];
    const key = await testService.person().createKey([...allScopes]);
    const statusOf = async (address: string) => {
      const { status, body } = await getWith(key, address);
      await body?.cancel();
      return status;
    };
    expect(addresses.length).toBeGreaterThan(10);
    for (const address of addresses) {
      expect([address, await statusOf(address)]).toEqual([address, statusOfGet(address)]);
    }
  });

  it("tells agents to ask a person if unclaimed agents have no scopes", () => {
    const closed = homeMarkdown(sites["for people only"]);
    expect(closed).toContain("1. Ask the person you work for");
    expect(closed).not.toMatch(/^\d\. Register/m);
  });
});
