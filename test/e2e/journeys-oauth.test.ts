import { exportJWK, generateKeyPair } from "jose";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { describe, expect, it } from "vitest";
import { startTestServiceProcess } from "../support/test-service-process.ts";
import { verifies } from "../support/verifies.ts";

const { baseUrl, person } = await startTestServiceProcess();
const issuer = new URL(baseUrl);
const signals = new URL(`${baseUrl}/api/signals?limit=1`);
const redirect_uri = "http://127.0.0.1/callback";
const scope = "signals:read factor:read darkpool:read alerts:write";
const insecure = { [oauth.allowInsecureRequests]: true };

const statusWith = async (token: string) =>
  (await fetch(signals, { headers: { authorization: `Bearer ${token}` } })).status;

/** Generates a client's key pair, with the public half in the form in which it is registered. */
async function clientKeys() {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid: "client-key", alg: "ES256", use: "sig" };
  return { key: { key: privateKey, kid: "client-key" }, jwks: { keys: [jwk] } };
}

// Each code arrives seconds after it was asked for, so the flows wait for theirs side by side.
describe.concurrent("oauth4webapi", () => {
  const discovered = oauth
    .discoveryRequest(issuer, { algorithm: "oauth2", ...insecure })
    .then((response) => oauth.processDiscoveryResponse(issuer, response));

  async function registered(
    metadata: Parameters<typeof oauth.dynamicClientRegistrationRequest>[1],
  ) {
    const server = await discovered;
    const response = await oauth.dynamicClientRegistrationRequest(server, metadata, insecure);
    const client = await oauth.processDynamicClientRegistrationResponse(response);
    return { server, client };
  }

  /**
   * Runs the authorization code flow, in which the person consents on the pages.
   * @returns The tokens.
   */
  async function codeFlow(name: string, authentication: (secret: string) => oauth.ClientAuth) {
    const { server, client } = await registered({
      client_name: name,
      redirect_uris: [redirect_uri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope,
      token_endpoint_auth_method: name,
    });
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const request = new URL(server.authorization_endpoint ?? "");
    request.search = new URLSearchParams({
      response_type: "code",
      client_id: client.client_id,
      redirect_uri,
      scope,
      state,
      resource: baseUrl,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    }).toString();

    const callback = await person().authorize(request);
    expect(callback.searchParams.get("iss")).toBe(baseUrl);
    const parameters = oauth.validateAuthResponse(server, client, callback, state);
    const authenticate = authentication(String(client.client_secret ?? ""));
    const exchange = () =>
      oauth.authorizationCodeGrantRequest(
        server,
        client,
        authenticate,
        parameters,
        redirect_uri,
        verifier,
        insecure,
      );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, await exchange());
    return { server, client, authenticate, exchange, tokens };
  }

  const methods = [
    ["none", () => oauth.None()],
    ["client_secret_post", oauth.ClientSecretPost],
    ["client_secret_basic", oauth.ClientSecretBasic],
  ] as const;

  verifies(
    [
      "4.9/authorize",
      "4.9/pkce",
      "5.2/authorization-code",
      "5.3/signals-read-user",
      "5.3/darkpool-read-user",
      "5.3/factor-read-user",
      "5.3/alerts-write-user",
    ],
    "completes the authorization code flow from discovery to a signal, with PKCE and iss, with every client authentication method",
    async () => {
      const flows = methods.map(async ([name, authentication]) => {
        const { tokens } = await codeFlow(name, authentication);
        expect(tokens.token_type).toBe("bearer");
        expect(tokens.scope?.split(" ").sort()).toEqual(scope.split(" ").sort());
        expect(await statusWith(tokens.access_token), name).toBe(200);
      });
      await Promise.all(flows);
    },
  );

  it("refreshes, and loses the whole grant when it reuses a refresh token", async () => {
    const { server, client, authenticate, tokens } = await codeFlow("none", () => oauth.None());
    const refresh = (token: string) =>
      oauth.refreshTokenGrantRequest(server, client, authenticate, token, insecure);
    const first = String(tokens.refresh_token);
    const next = await oauth.processRefreshTokenResponse(server, client, await refresh(first));
    expect(next.refresh_token).not.toBe(first);
    expect(await statusWith(next.access_token)).toBe(200);

    const replayed = oauth.processRefreshTokenResponse(server, client, await refresh(first));
    await expect(replayed).rejects.toMatchObject({ error: "invalid_grant" });
    expect(await statusWith(next.access_token)).toBe(401);
    const last = oauth.processRefreshTokenResponse(
      server,
      client,
      await refresh(String(next.refresh_token)),
    );
    await expect(last).rejects.toMatchObject({ error: "invalid_grant" });
  });

  it("loses the whole grant when it reuses a code", async () => {
    const { server, client, exchange, tokens } = await codeFlow("none", () => oauth.None());
    expect(await statusWith(tokens.access_token)).toBe(200);
    const replayed = oauth.processAuthorizationCodeResponse(server, client, await exchange());
    await expect(replayed).rejects.toMatchObject({ error: "invalid_grant" });
    expect(await statusWith(tokens.access_token)).toBe(401);
  });

  it("revokes a refresh token and thereby the access token", async () => {
    const { server, client, authenticate, tokens } = await codeFlow(
      "client_secret_post",
      (secret) => oauth.ClientSecretPost(secret),
    );
    const revocation = await oauth.revocationRequest(
      server,
      client,
      authenticate,
      String(tokens.refresh_token),
      insecure,
    );
    await oauth.processRevocationResponse(revocation);
    expect(await statusWith(tokens.access_token)).toBe(401);
  });

  it("gets a token with private_key_jwt", async () => {
    const { key, jwks } = await clientKeys();
    const { server, client } = await registered({
      client_name: "Key holder",
      grant_types: ["client_credentials"],
      response_types: [],
      token_endpoint_auth_method: "private_key_jwt",
      jwks,
    });
    expect(client.client_secret).toBeUndefined();
    const response = await oauth.clientCredentialsGrantRequest(
      server,
      client,
      oauth.PrivateKeyJwt(key),
      { scope: "signals:read", resource: baseUrl },
      insecure,
    );
    const token = await oauth.processClientCredentialsResponse(server, client, response);
    expect(await statusWith(token.access_token)).toBe(200);
  });
});

describe.concurrent("openid-client", () => {
  const execute = [openid.allowInsecureRequests];

  it("signs a person in with an ID token, and acts for them until it revokes the grant", async () => {
    const config = await openid.dynamicClientRegistration(
      issuer,
      {
        client_name: "Relying party",
        redirect_uris: [redirect_uri],
        grant_types: ["authorization_code", "refresh_token"],
        scope: `openid ${scope}`,
        token_endpoint_auth_method: "client_secret_basic",
      },
      undefined,
      { execute: [...execute, openid.enableNonRepudiationChecks] },
    );
    const pkceCodeVerifier = openid.randomPKCECodeVerifier();
    const expectedState = openid.randomState();
    const expectedNonce = openid.randomNonce();
    const request = openid.buildAuthorizationUrl(config, {
      redirect_uri,
      scope: `openid ${scope}`,
      resource: baseUrl,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
      nonce: expectedNonce,
    });
    const callback = await person().authorize(request);
    const tokens = await openid.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier,
      expectedState,
      expectedNonce,
      idTokenExpected: true,
    });
    expect(tokens.claims()).toMatchObject({ iss: baseUrl, sub: expect.stringMatching(/^acc_/) });
    expect(await statusWith(tokens.access_token)).toBe(200);

    const next = await openid.refreshTokenGrant(config, String(tokens.refresh_token));
    expect(await statusWith(next.access_token)).toBe(200);
    await openid.tokenRevocation(config, String(next.refresh_token));
    expect(await statusWith(next.access_token)).toBe(401);
  });

  it("gets access_denied when the person declines", async () => {
    const config = await openid.dynamicClientRegistration(
      issuer,
      { redirect_uris: [redirect_uri], token_endpoint_auth_method: "none", scope },
      openid.None(),
      { execute },
    );
    const verifier = openid.randomPKCECodeVerifier();
    const request = openid.buildAuthorizationUrl(config, {
      redirect_uri,
      scope,
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    const callback = await person().authorize(request, { decision: "deny" });
    const grant = openid.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier });
    await expect(grant).rejects.toMatchObject({ error: "access_denied" });
  });

  it("gets tokens with client_credentials, with a secret or a key", async () => {
    const { key, jwks } = await clientKeys();
    const metadata = { grant_types: ["client_credentials"], response_types: [] };
    const bySecret = await openid.dynamicClientRegistration(issuer, metadata, undefined, {
      execute,
    });
    const byKey = await openid.dynamicClientRegistration(
      issuer,
      { ...metadata, token_endpoint_auth_method: "private_key_jwt", jwks },
      openid.PrivateKeyJwt(key),
      { execute },
    );
    for (const config of [bySecret, byKey]) {
      const tokens = await openid.clientCredentialsGrant(config, { resource: baseUrl });
      expect(await statusWith(tokens.access_token)).toBe(200);
    }
  });
});
