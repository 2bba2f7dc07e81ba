import { createRemoteJWKSet, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { getWith, newToken } from "../support/agent.ts";
import { newKeys, startAuthServer } from "../support/auth-server.ts";
import { authorizationRequest, CALLBACK, registerPublic } from "../support/person.ts";
import { embedded } from "../support/stores.ts";
import { verifies } from "../support/verifies.ts";
import { createVisitor, exchange } from "../support/visitor.ts";

const { records } = await embedded.open({ now: () => Date.now() });
const server = await startAuthServer({ records, now: () => new Date() });
const { local: base } = server;
const keySet = () => createRemoteJWKSet(new URL(`${base}/.well-known/jwks.json`));

let people = 0;

/** Issues tokens for a new person and a new client. @param changes To the registration. */
async function tokensOf(scope: string, changes: object = {}) {
  const visitor = createVisitor(server);
  people += 1;
  const accountId = await visitor.signIn(`person-${people}@example.com`);
  const { client_id } = await registerPublic(base, changes);
  const { url, verifier } = authorizationRequest(base, { client_id, scope });
  const { body } = await exchange(server, {
    grant_type: "authorization_code",
    client_id,
    code: (await visitor.authorize(url)).searchParams.get("code") ?? "",
    redirect_uri: CALLBACK,
    code_verifier: verifier,
  });
  return { accountId, client_id, ...body } as Readonly<Record<string, string>>;
}

describe("an ID token", () => {
  it.each([
    [{}, "RS256"],
    [{ id_token_signed_response_alg: "RS256" }, "RS256"],
    [{ id_token_signed_response_alg: "ES256" }, "ES256"],
    [{ id_token_signed_response_alg: "none" }, "RS256"],
  ])(
    "of a client registered with %j is signed with %s, even after a key rotation",
    async (changes, alg) => {
      const verified = async () => {
        const { id_token = "", client_id = "", accountId } = await tokensOf("openid", changes);
        const options = { issuer: base, audience: client_id, algorithms: [alg] };
        const { payload, protectedHeader } = await jwtVerify(id_token, keySet(), options);
        expect(payload.sub).toBe(accountId);
        return protectedHeader.kid;
      };
      const before = await verified();
      server.useKeys(await newKeys(server.keys()));
      expect(await verified()).not.toBe(before);
    },
  );
});

describe("the userinfo endpoint", () => {
  const userInfo = `${base}/oauth/userinfo`;

  verifies(
    "5.2/userinfo",
    "is in the metadata, and returns the account id of the person as the subject",
    async () => {
      const metadata = await (await fetch(`${base}/.well-known/openid-configuration`)).json();
      expect(metadata).toMatchObject({ userinfo_endpoint: userInfo });
      const { access_token = "", accountId } = await tokensOf("openid signals:read");
      for (const method of ["GET", "POST"]) {
        const headers = { authorization: `Bearer ${access_token}` };
        const answer = await fetch(userInfo, { method, headers });
        expect([answer.status, await answer.json()]).toEqual([200, { sub: accountId }]);
        expect(answer.headers.get("cache-control")).toBe("no-store");
      }
    },
  );

  it("rejects missing and unknown tokens, and tokens without the openid scope or without a person", async () => {
    const without = await tokensOf("signals:read");
    const answers = [
      [await getWith(without.access_token ?? "", userInfo), 403, "insufficient_scope"],
      [await getWith(await newToken(base), userInfo), 401, "invalid_token"],
      [await getWith("unknown", userInfo), 401, "invalid_token"],
    ] as const;
    for (const [answer, status, error] of answers) {
      expect([answer.status, await answer.json()]).toMatchObject([status, { error }]);
      expect(answer.headers.get("www-authenticate")).toContain(`error="${error}"`);
    }
    const { status, headers } = await fetch(userInfo);
    expect([status, headers.get("www-authenticate")]).toEqual([401, `Bearer realm="${base}"`]);
  });
});
