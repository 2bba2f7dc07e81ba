import {
  Client,
  ClientCredentialsProvider,
  PrivateKeyJwtProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as OldUnauthorized } from "@modelcontextprotocol/sdk/client/auth.js";
import {
  ClientCredentialsProvider as OldCredentials,
  PrivateKeyJwtProvider as OldPrivateKeyJwt,
} from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { exportJWK, exportPKCS8, generateKeyPair } from "jose";
import { describe, expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { textOf } from "../support/mcp.ts";
import { startPeople } from "../support/people.ts";

const { baseUrl, person } = await startPeople();
const endpoint = new URL(`${baseUrl}/mcp`);
const redirectUrl = "http://127.0.0.1:33418/callback";

/** What an MCP client does once it is connected. */
interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
}

async function expectSignals(client: Caller) {
  const answer = await client.callTool({ name: "get_signal", arguments: { limit: 1 } });
  expect(JSON.parse(textOf(answer))).toMatchObject({ items: [{ market: "sandbox" }] });
}

/** What both clients keep of an authorization, in memory. */
function memory() {
  const kept = {
    clientInformation: undefined as { client_id: string } | undefined,
    tokens: undefined as { access_token: string; refresh_token?: string } | undefined,
    verifier: "",
    request: undefined as URL | undefined,
    state: crypto.randomUUID(),
  };
  const provider = {
    redirectUrl,
    clientMetadata: {
      client_name: "Memory",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => kept.state,
    clientInformation: () => kept.clientInformation,
    saveClientInformation(information: { client_id: string }) {
      kept.clientInformation = information;
    },
    tokens: () => kept.tokens,
    saveTokens(tokens: { access_token: string }) {
      kept.tokens = tokens;
    },
    redirectToAuthorization(url: URL) {
      kept.request = url;
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier;
    },
    codeVerifier: () => kept.verifier,
  };
  return { kept, provider: provider as never };
}

/** A generation of the client: how it connects, and how it is told what came back. */
interface Generation {
  readonly name: string;
  readonly refusal: new (message?: string) => Error;
  connect(provider: never): Promise<Caller & { close(): Promise<void> }>;
  finish(provider: never, callback: URL): Promise<void>;
}

const generations: readonly Generation[] = [
  {
    name: "1.x",
    refusal: OldUnauthorized,
    async connect(authProvider) {
      const client = new OldClient({ name: "journey", version: "1" });
      await client.connect(new OldTransport(endpoint, { authProvider }) as never);
      return client as never;
    },
    async finish(authProvider, { searchParams }) {
      const transport = new OldTransport(endpoint, { authProvider });
      await transport.finishAuth(searchParams.get("code") ?? "");
    },
  },
  ...(["auto", "legacy"] as const).map((mode) => ({
    name: `2.x in ${mode} mode`,
    refusal: UnauthorizedError,
    async connect(authProvider: never) {
      const client = new Client(
        { name: "journey", version: "1" },
        { versionNegotiation: { mode } },
      );
      await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }));
      return client;
    },
    async finish(authProvider: never, { searchParams }: URL) {
      await new StreamableHTTPClientTransport(endpoint, { authProvider }).finishAuth(searchParams);
    },
  })),
];

describe.each(generations)("the MCP client $name with a person", ({ connect, finish, refusal }) => {
  it("gets from a 401 to a tool by its own means, and refreshes", async () => {
    const { kept, provider } = memory();
    await expect(connect(provider)).rejects.toBeInstanceOf(refusal);
    const request = kept.request as URL;
    expect(request.searchParams.get("code_challenge_method")).toBe("S256");
    expect(request.searchParams.get("resource")).toBe(endpoint.href);

    const callback = await person().authorize(request);
    expect(callback.searchParams.get("state")).toBe(kept.state);
    await finish(provider, callback);
    const client = await connect(provider);
    await expectSignals(client);

    const before = { ...kept.tokens };
    expect(before.refresh_token).toBeDefined();
    kept.tokens = { ...before, access_token: "has-expired" };
    await expectSignals(client);
    expect(kept.tokens.access_token).not.toBe("has-expired");
    expect(kept.tokens.refresh_token).not.toBe(before.refresh_token);
    await client.close();
  });
});

describe("the MCP clients without a person", () => {
  async function keyHolder() {
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const { client_id } = await register(baseUrl, {
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [{ ...(await exportJWK(publicKey)), alg: "ES256", use: "sig" }] },
    });
    return {
      clientId: client_id,
      privateKey: await exportPKCS8(privateKey),
      algorithm: "ES256",
      expectedIssuer: baseUrl,
    };
  }

  async function secretHolder() {
    const agent = await register(baseUrl, { token_endpoint_auth_method: "client_secret_basic" });
    return {
      clientId: agent.client_id,
      clientSecret: agent.client_secret,
      expectedIssuer: baseUrl,
    };
  }

  it.each([
    ["1.x", "a secret", 0, async () => new OldCredentials(await secretHolder())],
    ["1.x", "a key", 0, async () => new OldPrivateKeyJwt(await keyHolder())],
    ["2.x", "a secret", 1, async () => new ClientCredentialsProvider(await secretHolder())],
    ["2.x", "a key", 1, async () => new PrivateKeyJwtProvider(await keyHolder())],
  ] as const)("connect: %s with %s", async (_client, _credential, generation, provider) => {
    const client = await generations[generation]?.connect((await provider()) as never);
    if (client === undefined) throw new Error("no such generation");
    await expectSignals(client);
    await client.close();
  });
});
