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

/** Claims, right or wrong. */
export type Claims = Readonly<Record<string, unknown>>;

/** An identity provider on a socket of its own that signs identity assertions (ID-JAG). */
export interface IdentityProvider {
  readonly issuer: string;
  /** How often its keys were fetched. */
  readonly fetches: () => number;
  /** Published keys. */
  readonly keys: readonly JWK[];
  /** As the operator would trust it. */
  trusted(): Promise<readonly TrustedIssuer[]>;
  /** Publishes a key beside its own. */
  publish(key: JWK): void;
  /** Signs from now on with a new key, which is published. */
  rotate(): Promise<void>;
  /** Stops answering. */
  stop(): Promise<void>;
  /** Signs claims; `undefined` takes a claim of the default ones away. */
  sign(claims: Claims, header?: Readonly<Record<string, unknown>>): Promise<string>;
}

/** Writes what `TRUSTED_ISSUERS` names; it goes when the tests of the file have run. */
export async function trustFile(content: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "issuers-"));
  atFileEnd(() => rm(folder, { recursive: true }));
  const file = join(folder, "issuers.json");
  await writeFile(file, content);
  return file;
}

/** An assertion for a client, as a provider fills it in. @param at Milliseconds since the epoch. */
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

/** Starts a provider; it stops when the tests of the file have run. */
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
