import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import {
  readTrustedIssuers,
  type TrustedIssuer,
} from "../../src/auth/assertions/trusted-issuers.ts";
import { atFileEnd } from "./file-end.ts";
import { listenLocally } from "./local-server.ts";

/** Claims of an identity assertion, valid or invalid. */
export type Claims = Readonly<Record<string, unknown>>;

/** An identity provider on its own socket, which signs identity assertions (ID-JAG). */
export interface IdentityProvider {
  readonly issuer: string;
  /** Number of requests for the provider's keys. */
  readonly fetches: () => number;
  /** The published keys. */
  readonly keys: readonly JWK[];
  /** The provider as an entry of the operator's trusted issuers. */
  trusted(): Promise<readonly TrustedIssuer[]>;
  /** Publishes a further key. */
  publish(key: JWK): void;
  /** Creates and publishes a key, and signs with it from now on. */
  rotate(): Promise<void>;
  /** Stops the server, so that requests fail. */
  stop(): Promise<void>;
  /** Signs the claims; a claim that is `undefined` is left out of the assertion. */
  sign(claims: Claims, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

/**
 * Writes a file for `TRUSTED_ISSUERS`, which is removed after the last test of the file. @returns
 * Its path.
 */
export async function trustFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "issuers-"));
  atFileEnd(() => rm(folder, { recursive: true }));
  const file = join(folder, "issuers.json");
  await writeFile(file, content);
  return file;
}

/** Typical claims of an assertion for a client. @param at Time of issue, Unix milliseconds. */
export function claimsFor(audience: string, clientId: string, at: number): Claims {
  const now = Math.floor(at / 1000);
  return {
    sub: "person-1",
    aud: audience,
    client_id: clientId,
    jti: crypto.randomUUID(),
    iat: now,
    exp: now + 300,
    auth_time: now - 60,
    email: "person@corp.example",
  };
}

/** Starts an identity provider; it stops after the last test of the file. */
export async function startIdentityProvider(): Promise<IdentityProvider> {
  const keys: JWK[] = [];
  let fetched = 0;
  let current: { readonly kid: string; readonly key: CryptoKey };
  const rotate = async () => {
    const { privateKey, publicKey } = await generateKeyPair("ES256");
    current = { kid: crypto.randomUUID(), key: privateKey };
    keys.push({ ...(await exportJWK(publicKey)), kid: current.kid, alg: "ES256", use: "sig" });
  };
  await rotate();

  const server = createServer((_req, res) => {
    fetched += 1;
    res.setHeader("content-type", "application/json").end(JSON.stringify({ keys }));
  });
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = await listenLocally(server);
  const entry = { name: "Corp", issuer, jwks_uri: `${issuer}/jwks.json` };

  return {
    issuer,
    keys,
    fetches: () => fetched,
    trusted: async () => readTrustedIssuers(await trustFile(JSON.stringify([entry]))),
    publish: (key) => void keys.push(key),
    rotate,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
    sign: (claims, header = {}) =>
      new SignJWT({ iss: issuer, ...claims })
        .setProtectedHeader({
          alg: "ES256",
          typ: "oauth-id-jag+jwt",
          kid: current.kid,
          ...header,
        })
        .sign(current.key),
  };
}
