import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import pino from "pino";
import { createAuthServices } from "../../../src/auth/create.ts";
import { readConfig } from "../../../src/config/config.ts";
import { createOAuthEndpoints } from "../../../src/http/oauth/endpoints.ts";
import { openPersistentState } from "../../../src/state.ts";
import { listenerOf } from "../../support/route-listener.ts";

/** Checks bearer tokens in the same way as the service. */
export interface Bearer {
  /** Base URL of the authorization server. */
  readonly tokensUrl: string;
  /** Whether the request has a valid token with the scope `signals:read`. */
  isGood(request: Pick<IncomingMessage, "headers">): Promise<boolean>;
}

/**
 * Starts an authorization server on its own port, and checks tokens with the service's own code.
 */
export async function startBearer(): Promise<Bearer> {
  const config = readConfig(process.env);
  const now = () => new Date();
  const log = pino({ level: "error" }, pino.destination(2));
  const state = await openPersistentState({
    choice: config.store,
    mode: "sandbox",
    now: Date.now,
    log,
  });
  const server = createServer();
  const tokensUrl = await listen(server);
  const access = await createAuthServices({
    settings: config,
    mode: "sandbox",
    store: state.store,
    keyring: state.keyring,
    deriveKey: state.deriveKey,
    onCredentialChange: state.onCredentialChange,
    extraMetadata: {},
    baseUrl: tokensUrl,
    name: "Bench",
    now,
    log,
  });
  const { tokenRoute, router } = createOAuthEndpoints({ ...access, baseUrl: tokensUrl });
  server.on("request", listenerOf([tokenRoute], { fallback: express().use(router) }));
  process.once("SIGTERM", () => process.exit(0));
  return {
    tokensUrl,
    async isGood({ headers }) {
      const [, token] = /^Bearer (\S+)$/.exec(headers.authorization ?? "") ?? [];
      const caller = token === undefined ? undefined : await access.authenticate(token);
      return caller?.scopes.has("signals:read") ?? false;
    },
  };
}

/** Listens on a free port of the loopback address. @returns The base URL. */
export async function listen(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
