import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import { type ClientAuthMethod, type JWK, Provider } from "oidc-provider";
import { onTestFinished } from "vitest";

/** The person who is signed in at the provider. */
interface Person {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean;
}

/** Options of a provider. */
interface Choice {
  readonly redirectUri: string;
  readonly authentication?: ClientAuthMethod;
  /** TCP port; absent: a free port. */
  readonly port?: number;
}

/** An external OpenID provider on its own socket, which signs its person in without asking. */
export interface OpenIdProvider {
  readonly issuer: string;
  readonly port: number;
  readonly client: { readonly clientId: string; readonly clientSecret: string };
  /** The person who signs in from now on; `undefined`: the sign-in is declined. */
  person: Person | undefined;
  /**
   * Simulated fault for paths with this prefix: a status, or no answer at all; `undefined`: none.
   */
  fault: { readonly path: string; readonly status: number | "silent" } | undefined;
  /** Requested paths, in order. */
  readonly asked: readonly string[];
  /**
   * Acts as a browser that is redirected to the provider. @returns The redirect URI with the
   * result.
   */
  visit(address: URL): Promise<URL>;
  stop(): Promise<void>;
}

/** Starts an OpenID provider; it stops after the test. */
export async function startOpenIdProvider(choice: Choice): Promise<OpenIdProvider> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(choice.port ?? 0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const client = { clientId: "market-signal", clientSecret: "secret of the client" };
  const asked: string[] = [];
  const self: OpenIdProvider = {
    ...{ issuer, port, client, asked, fault: undefined },
    person: { sub: "248289", email: "Ada@People.example", email_verified: true },
    visit: (address) => visit(address, choice.redirectUri),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  onTestFinished(self.stop);
  const provider = await createProvider({ ...choice, issuer, client }, () => self.person);
  const callback = provider.callback();
  server.on("request", (req: IncomingMessage, res: ServerResponse) => {
    asked.push(req.url ?? "");
    if (self.fault !== undefined && req.url?.startsWith(self.fault.path)) {
      if (self.fault.status !== "silent") res.writeHead(self.fault.status).end();
      return;
    }
    if (req.url?.startsWith("/interaction/")) void interact(provider, { req, res, self });
    else void callback(req, res);
  });
  return self;
}

/** The key of all providers of a worker, because one takes 40 ms of CPU time. */
const signingKey = generateKeyPair("RS256", { extractable: true })
  .then(({ privateKey }) => exportJWK(privateKey))
  .then((jwk): JWK => ({ ...jwk, alg: "RS256", use: "sig" }));

async function createProvider(
  {
    issuer,
    client,
    redirectUri,
    authentication = "client_secret_basic",
  }: Choice & Pick<OpenIdProvider, "issuer" | "client">,
  person: () => Person | undefined,
): Promise<Provider> {
  const keys = [await signingKey];
  return new Provider(issuer, {
    clients: [
      {
        client_id: client.clientId,
        client_secret: client.clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: authentication,
      },
    ],
    clientAuthMethods: [authentication],
    jwks: { keys },
    cookies: { keys: ["of the provider"] },
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    findAccount: (_ctx, sub) => ({ accountId: sub, claims: async () => ({ ...person(), sub }) }),
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    pkce: { required: () => true },
  });
}

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly self: Pick<OpenIdProvider, "person">;
}

async function interact(provider: Provider, { req, res, self }: Exchange): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(req, res);
  if (self.person === undefined) {
    return provider.interactionFinished(req, res, { error: "access_denied" });
  }
  if (prompt.name === "login") {
    return provider.interactionFinished(req, res, { login: { accountId: self.person.sub } });
  }
  const grant = new provider.Grant({
    accountId: session?.accountId ?? "",
    clientId: String(params.client_id),
  });
  grant.addOIDCScope(String(params.scope));
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(req, res, { consent }, { mergeWithLastSubmission: true });
}

/** Follows redirects with a browser's cookies until one leads to the redirect URI. */
async function visit(address: URL, redirectUri: string): Promise<URL> {
  const cookies = new Map<string, string>();
  for (let url = address, step = 0; step < 10; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, { redirect: "manual", headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null) throw new Error(`${url} answered ${await response.text()}`);
    url = new URL(location, url);
    if (url.href.startsWith(redirectUri)) return url;
  }
  throw new Error("too many redirects");
}
