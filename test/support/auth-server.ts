import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type Express, type RequestHandler, type Response } from "express";
import { exportJWK, generateKeyPair } from "jose";
import type { JWK, Provider } from "oidc-provider";
import { createAuditor } from "../../src/access/auditor.ts";
import { LastUseTracker } from "../../src/access/last-use.ts";
import { anonymousScopeCeiling } from "../../src/access/scopes.ts";
import { createAssertionVerifier } from "../../src/auth/assertions/id-jag.ts";
import type { TrustedIssuer } from "../../src/auth/assertions/trusted-issuers.ts";
import { createAuthenticator } from "../../src/auth/authenticator.ts";
import { createAuthorizationServer } from "../../src/auth/oidc/authorization-server.ts";
import { createClientCredentialsIssuer } from "../../src/auth/oidc/client-credentials.ts";
import { createInteractions, type Interactions } from "../../src/auth/oidc/interactions.ts";
import { createOAuthEndpoints } from "../../src/http/oauth/endpoints.ts";
import { ProtectedResource, type ResourcePath } from "../../src/http/protected-resource.ts";
import type { Route } from "../../src/http/route-table.ts";
import { sendJson } from "../../src/http/send-response.ts";
import type { LimitOverrides } from "../../src/limits/classes.ts";
import { createLimits, type Limits } from "../../src/limits/limits.ts";
import { AccountService } from "../../src/principals/accounts/accounts.ts";
import { BrowserSessions } from "../../src/principals/accounts/browser-sessions.ts";
import { ClaimService } from "../../src/principals/agents/claims.ts";
import {
  type CapacityCounts,
  UnclaimedCapacity,
} from "../../src/principals/agents/unclaimed-capacity.ts";
import { ApiKeyService } from "../../src/principals/keys/api-keys.ts";
import type { Records } from "../../src/store/port/records.ts";
import { atFileEnd } from "./file-end.ts";
import { looseNumbers } from "./limits.ts";
import { listenerOf, problemHandler } from "./route-listener.ts";

/** Keys of the authorization server. */
interface AuthServerKeys {
  readonly signing: readonly JWK[];
  readonly cookies: readonly string[];
}

/** Creates one key of each kind, followed by the previous keys. */
export async function newKeys(before?: AuthServerKeys): Promise<AuthServerKeys> {
  const signing = await Promise.all(["ES256", "RS256"].map(newSigningKey));
  const cookie = crypto.randomUUID();
  return {
    signing: [...signing, ...(before?.signing ?? [])],
    cookies: [cookie, ...(before?.cookies ?? [])],
  };
}

async function newSigningKey(alg: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), alg } as JWK;
}

/** Options of an authorization server. */
interface AuthServerOptions {
  readonly records: Records;
  readonly now: () => Date;
  /** Public URL; absent: the URL where it listens. */
  readonly publicUrl?: string;
  /** Low limits for a test; all other limits are never reached. */
  readonly numbers?: LimitOverrides;
  /** Fetches the URLs in client metadata; absent: every fetch fails. */
  readonly fetch?: typeof fetch;
  readonly issuers?: readonly TrustedIssuer[];
  /** Capacity for unclaimed agents; absent: that of the service. */
  readonly capacity?: number;
  /**
   * Number of trusted reverse proxies, which lets a test simulate client addresses; absent: none.
   */
  readonly proxyHops?: number;
}

/** The components behind the authorization server. */
interface Parts {
  readonly accounts: AccountService;
  readonly sessions: BrowserSessions;
  readonly apiKeys: ApiKeyService;
  readonly claims: ClaimService;
  readonly limits: Limits;
}

/**
 * The OAuth endpoints on their own socket, with two protected resources. The page of an interaction
 * is replaced by the interaction's data as JSON.
 */
export interface AuthServer extends Parts {
  /** Base URL of the socket. */
  readonly local: string;
  readonly port: number;
  /** The current authorization server. */
  provider(): Provider;
  keys(): AuthServerKeys;
  /** Replaces the authorization server by one with the given keys. */
  useKeys(keys: AuthServerKeys): void;
  /** Numbers of agents that were evicted or rejected for lack of capacity. */
  capacityTally(): CapacityCounts;
  /** Reported errors that are not the fault of the caller, oldest first. */
  readonly failures: readonly unknown[];
}

const hashAddress = (address: string): string => `hash of ${address}`;

/** Starts an authorization server on a free port; it stops after the last test of the file. */
export async function startAuthServer(options: AuthServerOptions): Promise<AuthServer> {
  const server = createServer();
  atFileEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const local = `http://127.0.0.1:${port}`;
  const baseUrl = options.publicUrl ?? local;

  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  const parts = createParts(options, baseUrl, onError);
  const { records: kept, now } = options;
  const capacity = new UnclaimedCapacity({ records: kept, now, capacity: options.capacity });
  const build = (keys: AuthServerKeys): Provider =>
    createAuthorizationServer({
      ...parts,
      ...{ records: options.records, now: options.now, hashAddress, keys, baseUrl, onError },
      verifier: createAssertionVerifier({
        ...{ issuers: options.issuers ?? [], audience: baseUrl },
        ...{ records: options.records, now: options.now, audit: auditOf(options) },
      }),
      anonymousScopes: anonymousScopeCeiling,
      findSession: async (cookie) => (await parts.sessions.browserOf(cookie)).session,
      capacity,
      fetch: options.fetch ?? (() => Promise.reject(new Error("there is no internet here"))),
      extraMetadata: {
        service_documentation: `${baseUrl}/docs/api`,
        issuer: "https://evil.example",
      },
    });
  let keys = await newKeys();
  let current = build(keys);
  const { records, proxyHops = 0 } = options;
  server.on("request", appOf({ ...parts, records, proxyHops, provider: () => current, baseUrl }));
  return {
    ...parts,
    local,
    port,
    failures,
    capacityTally: () => capacity.counts(),
    provider: () => current,
    keys: () => keys,
    useKeys(others) {
      keys = others;
      current = build(keys);
    },
  };
}

const auditOf = ({ now }: AuthServerOptions) => createAuditor({ hashAddress, now });

function createParts(
  options: AuthServerOptions,
  baseUrl: string,
  onError: (error: unknown) => void,
) {
  const { records, now } = options;
  const audit = auditOf(options);
  const anonymousScopes = anonymousScopeCeiling;
  const lastUse = new LastUseTracker({ records, now, onError });
  const limits = createLimits({ overrides: { ...looseNumbers, ...options.numbers } });
  return {
    lastUse,
    accounts: new AccountService({ records, now, audit, lastUse, hashAddress }),
    sessions: new BrowserSessions({ records, now, secure: false, audit, limits }),
    apiKeys: new ApiKeyService({ records, mode: "sandbox", now, audit, lastUse }),
    claims: new ClaimService({
      records,
      now,
      audit,
      baseUrl,
      anonymousScopes,
      signUp: "open",
      codeKey: new Uint8Array(32),
    }),
    clientCredentials: createClientCredentialsIssuer({
      records,
      now,
      audit,
      baseUrl,
      anonymousScopes,
    }),
    limits,
  };
}
interface Mounted extends ReturnType<typeof createParts> {
  readonly records: Records;
  readonly provider: () => Provider;
  readonly baseUrl: string;
  readonly proxyHops: number;
}

function appOf(parts: Mounted): RequestListener {
  const { provider, baseUrl, apiKeys: keys, limits } = parts;
  const authenticate = createAuthenticator({
    ...parts,
    keys,
    anonymousScopes: anonymousScopeCeiling,
  });
  const app = express();
  app.set("trust proxy", parts.proxyHops);
  app.disable("x-powered-by");
  const oauth = createOAuthEndpoints({ ...parts, keys });
  app.use(oauth.router);
  mountInteraction(app, createInteractions(provider), parts.sessions);
  mountSignIn(app, parts);
  app.use(problemHandler());
  const probe = (path: string, resource: ResourcePath): Route => {
    const options = {
      ...{ authenticate, baseUrl, limits, claims: parts.claims },
      anonymousScopes: anonymousScopeCeiling,
    };
    const guarded = new ProtectedResource(options, resource);
    return {
      method: "GET",
      path,
      async handle(context) {
        const caller = await guarded.authorize(context);
        sendJson(context.res, JSON.stringify({ ...caller, scopes: [...caller.scopes] }));
      },
    };
  };
  const routes = [oauth.tokenRoute, probe("/api/probe", ""), probe("/mcp", "/mcp")];
  return listenerOf(routes, { proxyHops: parts.proxyHops, fallback: app });
}

/**
 * Mounts the interaction endpoints without pages: GET returns the interaction as JSON, POST answers
 * it.
 */
function mountInteraction(
  app: Express,
  interactions: Interactions,
  sessions: BrowserSessions,
): void {
  const path = "/oauth/interaction/:uid";
  const ask: RequestHandler = async (req, res) => {
    const interaction = await interactions.find(req, res);
    if (interaction === undefined) return goOn(res, undefined);
    const { session } = await sessions.browserOf(req.headers.cookie);
    const isSignedIn = session !== undefined && session.signedInAt >= interaction.minSignedInAt;
    if (interaction.prompt !== "login" || !isSignedIn) return void res.json(interaction);
    goOn(res, await interactions.signIn(req, res, session));
  };
  const answer: RequestHandler = async (req, res) => {
    const { decision, scope = [] } = req.body;
    if (decision === "deny") return goOn(res, await interactions.deny(req, res));
    goOn(res, await interactions.consent(req, res, [scope].flat()));
  };
  app.get(path, ask);
  app.post(path, express.urlencoded({ extended: false }), answer);
}

function goOn(res: Response, address: string | undefined): void {
  if (address === undefined) res.status(400).json({ error: "invalid_request" });
  else res.redirect(303, address);
}

/** Mounts a sign-in that needs only an email address. */
function mountSignIn(app: Express, { accounts, sessions }: Parts): void {
  app.post("/sign-in", express.urlencoded({ extended: false }), async (req, res) => {
    const { id } = await accounts.findOrCreateByEmail(req.body.email);
    const browser = await sessions.browserOf(req.headers.cookie);
    res.append("set-cookie", await sessions.open(browser, id)).json(id);
  });
  app.post("/sign-out", async (req, res) => {
    const browser = await sessions.browserOf(req.headers.cookie);
    res.append("set-cookie", await sessions.close(browser)).json(null);
  });
}
