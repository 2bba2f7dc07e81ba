import {
  Client,
  ClientCredentialsProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { ClientCredentialsProvider as OldCredentials } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as oauth from "oauth4webapi";
import { describe, expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { textOf } from "../support/mcp.ts";
import { startProcess } from "../support/process.ts";
import { verifies } from "../support/verifies.ts";

const { baseUrl, ready } = await startProcess();
const endpoint = new URL(`${baseUrl}/mcp`);
const insecure = { [oauth.allowInsecureRequests]: true };

/** The methods of a connected MCP client that these tests use. */
interface Caller {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
}

async function expectSignals(client: Caller) {
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toContain("get_signal");
  const found = await client.callTool({ name: "find_instruments", arguments: { limit: 1 } });
  const { items } = JSON.parse(textOf(found)) as { items: { symbol: string }[] };
  const answer = await client.callTool({
    name: "get_signal",
    arguments: { symbol: items[0]?.symbol ?? "" },
  });
  expect(JSON.parse(textOf(answer))).toMatchObject({
    symbol: items[0]?.symbol,
    market: "sandbox",
    signal: expect.stringMatching(/^(LONG|SHORT|WAIT)$/),
  });
}

/** Registers an agent that authenticates with HTTP Basic. @returns Its credentials. */
async function credentials() {
  const agent = await register(baseUrl, { token_endpoint_auth_method: "client_secret_basic" });
  return {
    clientId: agent.client_id,
    clientSecret: agent.client_secret,
    expectedIssuer: baseUrl,
    scope: "signals:read factor:read darkpool:read",
  };
}

describe("a client that knows only the base URL", () => {
  it("reads the base URL from the JSON line in the log", () => {
    expect(ready).toMatchObject({ event: "ready", market: "sandbox", simulated: true });
    expect(baseUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  });

  verifies(
    ["5.2/issuer", "4.10/oauth-authorization-server", "4.10/oauth-protected-resource"],
    "gets a signal after a 401 response, and revokes its token, using oauth4webapi",
    async () => {
      const signals = new URL(`${baseUrl}/api/signals?limit=1`);
      const refused = await fetch(signals);
      const [, metadataUrl] =
        /resource_metadata="([^"]+)"/.exec(refused.headers.get("www-authenticate") ?? "") ?? [];
      const resource = (await (await fetch(metadataUrl ?? "")).json()) as {
        resource: string;
        authorization_servers: string[];
      };
      const issuer = new URL(resource.authorization_servers[0] ?? "");

      const discovery = await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure });
      const server = await oauth.processDiscoveryResponse(issuer, discovery);
      const registration = await oauth.dynamicClientRegistrationRequest(
        server,
        { client_name: "Stranger", grant_types: ["client_credentials"], response_types: [] },
        insecure,
      );
      const client = await oauth.processDynamicClientRegistrationResponse(registration);
      const authenticate = oauth.ClientSecretBasic(client.client_secret as string);

      const parameters = { resource: resource.resource, scope: "signals:read" };
      const tokenResponse = await oauth.clientCredentialsGrantRequest(
        server,
        client,
        authenticate,
        parameters,
        insecure,
      );
      const token = await oauth.processClientCredentialsResponse(server, client, tokenResponse);
      const call = () =>
        oauth.protectedResourceRequest(
          token.access_token,
          "GET",
          signals,
          new Headers(),
          null,
          insecure,
        );
      expect((await call()).status).toBe(200);

      const revocation = await oauth.revocationRequest(
        server,
        client,
        authenticate,
        token.access_token,
        insecure,
      );
      await oauth.processRevocationResponse(revocation);
      await expect(call()).rejects.toBeInstanceOf(oauth.WWWAuthenticateChallengeError);
    },
  );

  it.each([
    ["modern", { pin: "2026-07-28" }],
    ["legacy", "legacy"],
    ["auto", "auto"],
  ] as const)("can connect the MCP client 2.x in %s mode through OAuth", async (_name, mode) => {
    const client = new Client({ name: "stranger", version: "1" }, { versionNegotiation: { mode } });
    const authProvider = new ClientCredentialsProvider(await credentials());
    await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }));
    await expectSignals(client);
    expect(client.getInstructions()).toContain("not investment advice");
    await client.close();
  });

  it("can connect the MCP client 1.x through OAuth", async () => {
    const client = new OldClient({ name: "stranger", version: "1" });
    const authProvider = new OldCredentials(await credentials());
    await client.connect(new OldTransport(endpoint, { authProvider }) as never);
    await expectSignals(client as Caller);
    await client.close();
  });
});
