import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
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
import { afterAll, describe, expect, it } from "vitest";
import { register } from "../support/agent.ts";
import { createCertificate } from "../support/certificate.ts";
import { textOf } from "../support/mcp.ts";
import type { Person } from "../support/person.ts";
import { startTestService } from "../support/test-service.ts";
import { startTestServiceProcess } from "../support/test-service-process.ts";

const { baseUrl, person } = await startTestServiceProcess();
const endpoint = new URL(`${baseUrl}/mcp`);
const redirectUrl = "http://127.0.0.1:33418/callback";

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) server.close();
});

/** A service that can fetch the client's metadata document from this machine. */
const { document, outbound } = await startDocument();
const testService = await startTestService({}, { outbound });

/** The methods of a connected MCP client that these tests use. */
interface Caller {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<object>;
}

async function expectSignals(client: Caller) {
  const answer = await client.callTool({ name: "get_signal", arguments: { limit: 1 } });
  expect(JSON.parse(textOf(answer))).toMatchObject({ market: "sandbox", items: [{}] });
}

/**
 * In-memory storage of an authorization for both client generations.
 * @param clientMetadataUrl URL of the client's metadata document; if absent, the client registers
 * dynamically.
 */
function memory(clientMetadataUrl?: string) {
  const kept = {
    clientInformation: undefined as { client_id: string } | undefined,
    tokens: undefined as { access_token: string; refresh_token?: string } | undefined,
    verifier: "",
    request: undefined as URL | undefined,
    state: crypto.randomUUID(),
    discovery: undefined as object | undefined,
  };
  const provider = {
    redirectUrl,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
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
    saveDiscoveryState(state: object) {
      kept.discovery = state;
    },
    discoveryState: () => kept.discovery,
  };
  return { kept, provider: provider as never };
}

/**
 * A generation of the MCP client: how it connects, and how it finishes authorization with the
 * callback URL.
 */
interface Generation {
  readonly name: string;
  readonly refusal: new (message?: string) => Error;
  connect(endpoint: URL, provider: never): Promise<Caller & { close(): Promise<void> }>;
  finish(endpoint: URL, provider: never, callback: URL): Promise<void>;
}

const generations: readonly Generation[] = [
  {
    name: "1.x",
    refusal: OldUnauthorized,
    async connect(endpoint, authProvider) {
      const client = new OldClient({ name: "journey", version: "1" });
      await client.connect(new OldTransport(endpoint, { authProvider }) as never);
      return client as never;
    },
    async finish(endpoint, authProvider, { searchParams }) {
      const transport = new OldTransport(endpoint, { authProvider });
      await transport.finishAuth(searchParams.get("code") ?? "");
    },
  },
  ...(["auto", "legacy"] as const).map((mode) => ({
    name: `2.x in ${mode} mode`,
    refusal: UnauthorizedError,
    async connect(endpoint: URL, authProvider: never) {
      const client = new Client(
        { name: "journey", version: "1" },
        { versionNegotiation: { mode } },
      );
      await client.connect(new StreamableHTTPClientTransport(endpoint, { authProvider }));
      return client;
    },
    async finish(endpoint: URL, authProvider: never, { searchParams }: URL) {
      await new StreamableHTTPClientTransport(endpoint, { authProvider }).finishAuth(searchParams);
    },
  })),
];

/**
 * Expects the client's own OAuth support to lead from a 401 to a tool call, and through a token
 * refresh.
 */
async function expectJourney(
  { connect, finish, refusal }: Generation,
  { endpoint, ...others }: { readonly endpoint: URL; person(): Person; document?: string },
) {
  const { kept, provider } = memory(others.document);
  await expect(connect(endpoint, provider)).rejects.toBeInstanceOf(refusal);
  const request = kept.request as URL;
  expect(request.searchParams.get("code_challenge_method")).toBe("S256");
  expect(request.searchParams.get("resource")).toBe(endpoint.href);

  const callback = await others.person().authorize(request);
  expect(callback.searchParams.get("state")).toBe(kept.state);
  await finish(endpoint, provider, callback);
  const client = await connect(endpoint, provider);
  await expectSignals(client);

  const before = { ...kept.tokens };
  expect(before.refresh_token).toBeDefined();
  kept.tokens = { ...before, access_token: "has-expired" };
  await expectSignals(client);
  expect(kept.tokens.access_token).not.toBe("has-expired");
  expect(kept.tokens.refresh_token).not.toBe(before.refresh_token);
  await client.close();
  return { request, client_id: kept.clientInformation?.client_id };
}

// Each code arrives seconds after it was asked for, so the journeys wait for theirs side by side.
describe.concurrent.each(generations)("the MCP client $name with a person", (generation) => {
  it("completes OAuth with dynamic client registration, from the 401 to a tool call", async () => {
    const { client_id } = await expectJourney(generation, { endpoint, person });
    expect(client_id).not.toContain("https://");
  });

  it("completes OAuth with a client ID metadata document, from the 401 to a tool call", async () => {
    const at = new URL(`${testService.base}/mcp`);
    const journey = { endpoint: at, person: () => testService.person(), document };
    const { request, client_id } = await expectJourney(generation, journey);
    expect([request.searchParams.get("client_id"), client_id]).toEqual([document, document]);
    expect(testService.logged).toEqual([]);
  });
});

/** Serves a client metadata document from this machine under a public host name. */
async function startDocument() {
  const host = "agent.example.com";
  const { cert, key } = createCertificate(host);
  const server = createServer({ cert, key }, (_req, res) => {
    res.setHeader("content-type", "application/json").end(JSON.stringify(described));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const document = `https://${host}:${(server.address() as AddressInfo).port}/client.json`;
  const described = {
    client_id: document,
    client_name: "Described",
    redirect_uris: [redirectUrl],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const lookup = async () => ["127.0.0.1"];
  const isAllowed = (address: string) => address === "127.0.0.1";
  return { document, outbound: { ca: cert, lookup, isAllowed } };
}

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
    ["1.x", "a client secret", 0, async () => new OldCredentials(await secretHolder())],
    ["1.x", "a private key", 0, async () => new OldPrivateKeyJwt(await keyHolder())],
    ["2.x", "a client secret", 1, async () => new ClientCredentialsProvider(await secretHolder())],
    ["2.x", "a private key", 1, async () => new PrivateKeyJwtProvider(await keyHolder())],
  ] as const)(
    "connect with client version %s and %s",
    async (_client, _credential, generation, provider) => {
      const client = await generations[generation]?.connect(endpoint, (await provider()) as never);
      if (client === undefined) throw new Error("no such generation");
      await expectSignals(client);
      await client.close();
    },
  );
});
