import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import { afterAll } from "vitest";
import { createAccounts } from "../../src/auth/accounts/account-store.ts";
import type { Accounts } from "../../src/auth/accounts/accounts.ts";
import type { Claims } from "../../src/auth/agents/claims.ts";
import { createClaims } from "../../src/auth/agents/create-claims.ts";
import { createAssertionVerifier } from "../../src/auth/assertions/id-jag.ts";
import { createAuditor } from "../../src/auth/auditor.ts";
import { createApiKeys } from "../../src/auth/keys/api-keys.ts";
import { createLastUse } from "../../src/auth/last-use.ts";
import { createProvider } from "../../src/auth/oidc/provider.ts";
import { anonymousCeiling } from "../../src/auth/scopes.ts";
import { oauthRouter } from "../../src/http/oauth.ts";
import { createLimits } from "../../src/limits/memory-limits.ts";
import type { Records } from "../../src/store/records.ts";
import { authorizationServerExtras } from "../../wellknown/authorization-server.ts";
import { newKeys } from "./auth-server.ts";
import type { IdentityProvider } from "./identity-provider.ts";

/** The OAuth endpoints alone, with an identity provider that they trust. */
export interface IdentityServer {
  readonly base: string;
  readonly accounts: Accounts;
  readonly claims: Claims;
  /** Failures that were not the caller's. */
  readonly failures: readonly unknown[];
}

const servers: Server[] = [];
afterAll(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
});

const plenty = { points: 1_000_000, windowSeconds: 3600 };

/** Starts the endpoints on a free port; they stop when the tests of the file have run. */
export async function startIdentityServer(options: {
  readonly records: Records;
  readonly now: () => Date;
  readonly idp: IdentityProvider;
}): Promise<IdentityServer> {
  const { records, now } = options;
  const app = express();
  const server = createServer(app);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const failures: unknown[] = [];
  const onError = (error: unknown) => void failures.push(error);
  const hashAddress = (address: string) => `hash of ${address}`;
  const audit = createAuditor({ hashAddress, now });
  const lastUse = createLastUse({ records, now, onError });
  const accounts = createAccounts({ records, now, audit, lastUse });
  const policy = { baseUrl, anonymousScopes: anonymousCeiling };
  const claims = createClaims({ records, now, hashAddress, ...policy });
  const issuers = await options.idp.trusted();
  const limits = createLimits({
    overrides: { register: plenty, "register-all": plenty, token: plenty },
  });
  const provider = createProvider({
    ...policy,
    records,
    now,
    hashAddress,
    accounts,
    claims,
    verifier: createAssertionVerifier({ issuers, audience: baseUrl, records, audit, now }),
    signedIn: async () => undefined,
    discovery: authorizationServerExtras({ baseUrl, name: "Test" }),
    keys: await newKeys(),
    limits,
    fetch,
    onError,
  });
  const keys = createApiKeys({ records, mode: "sandbox", now, audit, lastUse });
  app.use(oauthRouter({ provider: () => provider, baseUrl, keys, limits }));
  return { base: baseUrl, accounts, claims, failures };
}
