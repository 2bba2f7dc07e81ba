import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type ErrorRequestHandler, type Express } from "express";
import { exportJWK, generateKeyPair } from "jose";
import type { JWK, Provider } from "oidc-provider";
import { afterAll } from "vitest";
import { createAuthenticator, mayUse } from "../../src/auth/bearer.ts";
import { createProvider } from "../../src/auth/oidc/provider.ts";
import { anonymousCeiling } from "../../src/auth/scopes.ts";
import { oauthRouter } from "../../src/http/oauth.ts";
import { Problem } from "../../src/problem.ts";
import type { Records } from "../../src/store/records.ts";

/** Keys as the authorization server takes them. */
interface AuthServerKeys {
  readonly signing: readonly JWK[];
  readonly cookies: readonly string[];
}

/** One key of each kind, in front of those that were there before. */
export async function newKeys(before?: AuthServerKeys): Promise<AuthServerKeys> {
  const { privateKey } = await generateKeyPair("ES256", { extractable: true });
  const signing = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID() } as JWK;
  const cookie = crypto.randomUUID();
  return {
    signing: [signing, ...(before?.signing ?? [])],
    cookies: [cookie, ...(before?.cookies ?? [])],
  };
}

/** What an authorization server is started with. */
interface AuthServerOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Its public address when that is not where it listens. */
  readonly publicUrl?: string;
}

/** The OAuth endpoints alone, on a socket of their own, with two resources that they protect. */
export interface AuthServer {
  /** Where it listens. */
  readonly local: string;
  readonly port: number;
  /** The authorization server of the moment. */
  provider(): Provider;
  keys(): AuthServerKeys;
  /** Puts another authorization server with other keys in the place of the present one. */
  useKeys(keys: AuthServerKeys): void;
  /** Failures that were not the caller's, newest last. */
  readonly failures: readonly unknown[];
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

/** Starts an authorization server on a free port; it stops when the tests of the file have run. */
export async function startAuthServer(options: AuthServerOptions): Promise<AuthServer> {
  const app = express();
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const local = `http://127.0.0.1:${port}`;
  const baseUrl = options.publicUrl ?? local;

  const failures: unknown[] = [];
  const build = (keys: AuthServerKeys): Provider =>
    createProvider({
      records: options.records,
      now: options.now,
      hashAddress: (address) => `hash of ${address}`,
      keys,
      baseUrl,
      anonymousScopes: anonymousCeiling,
      discovery: { service_documentation: `${baseUrl}/docs/api`, issuer: "https://evil.example" },
      onError: (error) => failures.push(error),
    });
  let keys = await newKeys();
  let current = build(keys);
  mount(app, { provider: () => current, baseUrl });
  return {
    local,
    port,
    failures,
    provider: () => current,
    keys: () => keys,
    useKeys(others) {
      keys = others;
      current = build(keys);
    },
  };
}

const problems: ErrorRequestHandler = (error, _req, res, next) => {
  if (!(error instanceof Problem)) return next(error);
  res.status(error.status).set(error.headers).type("application/problem+json");
  res.send(JSON.stringify(error));
};

function mount(app: Express, options: { provider: () => Provider; baseUrl: string }): void {
  const { provider, baseUrl } = options;
  const authenticate = createAuthenticator(provider);
  app.disable("x-powered-by");
  app.use(oauthRouter({ provider, baseUrl }));
  app.get(["/api/probe", "/mcp"], async (req, res) => {
    const caller = await authenticate(req.headers.authorization?.slice("Bearer ".length) ?? "");
    const resource = req.path === "/mcp" ? `${baseUrl}/mcp` : baseUrl;
    if (caller === undefined || !mayUse(caller, resource)) return res.sendStatus(401);
    return res.json({ clientId: caller.clientId, scopes: [...caller.scopes] });
  });
  app.use(problems);
}
