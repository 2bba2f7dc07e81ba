import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { anonymousScopeCeiling, type Scope } from "../../../../src/access/scopes.ts";
import { JWT_BEARER_GRANT_TYPE } from "../../../../src/auth/assertions/oauth-urns.ts";
import { normalizeRegistration } from "../../../../src/auth/oidc/client-metadata.ts";
import { checkRegistrationBody } from "../../../../src/auth/oidc/metadata-members.ts";
import { EXAMPLE_REGISTRATION as example } from "../../../support/agent.ts";
import { INVISIBLE_TEXTS } from "../../../support/invisible-texts.ts";

const codeClient = { ...example, grant_types: ["authorization_code"], response_types: ["code"] };

function normalize(changes: object, anonymousScopes: readonly Scope[] = anonymousScopeCeiling) {
  return normalizeRegistration({ ...example, ...changes }, anonymousScopes);
}

function refusal(changes: object, anonymousScopes?: readonly Scope[]): unknown {
  try {
    normalize(changes, anonymousScopes);
  } catch (error) {
    return error;
  }
  return "accepted";
}

describe("the grant types of a registration", () => {
  it("match the example body, without values that the server does not support", () => {
    expect(normalize({})).toMatchObject({
      client_name: "Example Agent",
      grant_types: ["client_credentials"],
      response_types: [],
      scope: "signals:read darkpool:read factor:read",
      application_type: "web",
    });
  });

  it("allow the response type code only together with the authorization code grant", () => {
    expect(normalize(codeClient)).toMatchObject({ response_types: ["code"] });
    expect(normalize({ response_types: ["code"] })).toMatchObject({ response_types: [] });
  });

  it.each([
    [{ grant_types: ["password"] }, "grant_types"],
    [{ grant_types: [] }, "grant_types"],
    [{ grant_types: "client_credentials" }, "grant_types must be an array"],
    [{ token_endpoint_auth_method: "none" }, "token_endpoint_auth_method other than none"],
  ])("are rejected when the metadata are invalid: %j", (changes, description) => {
    expect(refusal(changes)).toMatchObject({
      error: "invalid_client_metadata",
      error_description: expect.stringContaining(description),
    });
  });

  it.each([
    [
      ["authorization_code", "refresh_token"],
      ["authorization_code", "refresh_token"],
    ],
    [["refresh_token", "client_credentials"], ["client_credentials"]],
    [
      ["client_credentials", JWT_BEARER_GRANT_TYPE, "password"],
      ["client_credentials", JWT_BEARER_GRANT_TYPE],
    ],
  ])("are reduced from %j to %j", (grant_types, granted) => {
    expect(normalize({ grant_types, response_types: undefined })).toMatchObject({
      grant_types: granted,
    });
  });

  it.each([[["refresh_token"]], [["implicit"]], [[null]], [[["client_credentials"]]]])(
    "are rejected when none of them is supported: %j",
    (grant_types) => {
      expect(refusal({ grant_types })).toMatchObject({ error: "invalid_client_metadata" });
    },
  );

  it("require a secret or key for identity assertions", () => {
    const changes = { grant_types: [JWT_BEARER_GRANT_TYPE], token_endpoint_auth_method: "none" };
    expect(refusal(changes)).toMatchObject({ error: "invalid_client_metadata" });
  });

  it("may include the authorization code grant for a public client", () => {
    const accepted = normalize({ ...codeClient, token_endpoint_auth_method: "none" });
    expect(accepted).toMatchObject({ grant_types: ["authorization_code"] });
  });
});

describe("the requested scope of a registration", () => {
  it.each([
    ["alerts:write signals:read", "signals:read"],
    ["signals:read  signals:read openid admin", "signals:read"],
    [undefined, "signals:read factor:read darkpool:read"],
    ["", "signals:read factor:read darkpool:read"],
  ])("is reduced from %j to %j for an agent without an owner", (asked, granted) => {
    expect(normalize({ scope: asked })).toMatchObject({ scope: granted });
  });

  it.each(["alerts:write", "admin root", "SIGNALS:READ"])(
    "is rejected when it is only %j",
    (scope) => {
      expect(refusal({ scope })).toMatchObject({
        error: "invalid_scope",
        status: 400,
        error_description: expect.stringContaining(
          "alerts:write needs an agent claimed by a person",
        ),
      });
    },
  );

  it("is omitted for an agent when the operator allows no scopes, but an unknown scope is rejected", () => {
    expect(normalize({}, []).scope).toBeUndefined();
    expect(normalize({ scope: undefined }, []).scope).toBeUndefined();
    expect(refusal({ scope: "admin" }, [])).toMatchObject({ error: "invalid_scope" });
  });

  it("may include alerts:write for a client that asks a person for consent", () => {
    expect(normalize({ ...codeClient, scope: "alerts:write" })).toMatchObject({
      scope: "alerts:write",
    });
  });

  it("may include openid and offline_access for a client that asks a person for consent", () => {
    const scope = "openid offline_access signals:read";
    expect(normalize({ ...codeClient, scope })).toMatchObject({ scope });
    expect(normalize({ scope })).toMatchObject({ scope: "signals:read" });
    expect(normalize({ grant_types: [JWT_BEARER_GRANT_TYPE], scope })).toMatchObject({
      scope: "signals:read",
    });
  });

  it("defaults to every scope for a client that asks a person for consent", () => {
    expect(normalize({ ...codeClient, scope: undefined })).toMatchObject({
      scope: "signals:read factor:read darkpool:read alerts:write openid offline_access",
    });
  });

  it("may include alerts:write with an assertion from the person's identity provider", () => {
    const changes = { grant_types: [JWT_BEARER_GRANT_TYPE], scope: "alerts:write" };
    expect(normalize(changes)).toMatchObject({ scope: "alerts:write" });
  });

  it("may include the owner's scopes for a claimed agent", () => {
    const owners: Scope[] = ["alerts:write", "signals:read"];
    const scope = "darkpool:read alerts:write";
    expect(normalize({ scope }, owners)).toMatchObject({ scope: "alerts:write" });
  });

  it("is rejected when it is not a string", () => {
    expect(refusal({ scope: ["signals:read"] })).toMatchObject({
      error: "invalid_client_metadata",
    });
  });
});

describe("the redirect URIs of a registration", () => {
  it.each([
    [["https://agent.example/callback"], "web"],
    [["https://agent.example/callback", "http://127.0.0.1:8976/callback"], "native"],
    [["http://[::1]/callback"], "native"],
    [["http://localhost/callback"], "native"],
    [["com.example.app:/callback"], "native"],
    [["cursor://anysphere.cursor-mcp/oauth/callback"], "native"],
  ])("%j make the client a %s client", (redirect_uris, application_type) => {
    expect(normalize({ redirect_uris })).toMatchObject({ application_type });
  });

  it.each([
    [["http://agent.example/callback"]],
    [["http://127.0.0.1.evil.example/callback"]],
    [["http://localhost.evil.example/callback"]],
    [["javascript:alert(1)"]],
    [["vbscript:x"]],
    [["data:text/html,hello"]],
    [["file:///etc/passwd"]],
    [["about:blank"]],
    [["blob:https://app.example/x"]],
    [["ms-msdt:/id"]],
    [["search-ms:query=x"]],
    [["intent://scan/"]],
    [["mailto:a@b.example"]],
    [["tel:1"]],
    [["app:/callback"]],
    [["cursors://anysphere.cursor-mcp/oauth/callback"]],
    [["vscode://anysphere.cursor-mcp/oauth/callback"]],
    [["app://callback"]],
    [["https://agent.example/\ncallback"]],
    [["/callback"]],
    [[7]],
    [["https://agent.example@evil.example/callback"]],
    [["https://user:secret@agent.example/callback"]],
    [[`https://agent.example/${"a".repeat(2000)}`]],
    [Array.from({ length: 11 }, (_, port) => `https://agent.example/${port}`)],
    ["https://agent.example/callback"],
  ])("are rejected when invalid: %j", (redirect_uris) => {
    expect(refusal({ redirect_uris })).toMatchObject({ error: "invalid_redirect_uri" });
  });

  it("are required for the authorization code grant", () => {
    expect(refusal({ ...codeClient, redirect_uris: [] })).toMatchObject({
      error: "invalid_redirect_uri",
      error_description: expect.stringContaining("client_credentials only"),
    });
    expect(normalize({ redirect_uris: undefined })).toMatchObject({ application_type: "web" });
  });
});

describe("the text members of a registration", () => {
  it("accept a name in any script, and normalize it to NFC", () => {
    expect(normalize({ client_name: "Cafe\u0301 <3 分析 👩‍🔬" })).toMatchObject({
      client_name: "Caf\u00e9 <3 分析 👩‍🔬",
    });
  });

  it.each([
    "a\u0000b",
    "a\nb",
    "a\u001b[31mb",
    "a\u0085b",
    "moc\u202egnp",
    "a\u2066b",
    "a\u200fb",
    "a\u2028b",
    "a\ud800b",
    "a\u200bb",
    "a\u{e0041}b",
    ...INVISIBLE_TEXTS,
    "javascript:alert(1)",
    "<script>alert(1)</script>",
    "My <b>agent</b>",
    "x <!-- y",
  ])("reject the name %j", (client_name) => {
    expect(refusal({ client_name })).toMatchObject({
      error: "invalid_client_metadata",
      error_description: expect.stringContaining("client_name"),
    });
  });

  it("allow a name of up to 100 characters, not bytes", () => {
    expect(normalize({ client_name: "😀".repeat(100) })).toMatchObject({
      client_name: "😀".repeat(100),
    });
    expect(refusal({ client_name: "a".repeat(101) })).toMatchObject({
      error: "invalid_client_metadata",
    });
  });

  it.each([
    { client_name: 7 },
    { software_id: { toString: 1 } },
    { software_version: "1\u202e" },
    { client_uri: `https://agent.example/${"a".repeat(2000)}` },
    { logo_uri: "https://agent.example/\u0007" },
    { jwks_uri: "http://agent.example/jwks.json" },
    { contacts: Array.from({ length: 11 }, () => "a@agent.example") },
    { contacts: [`${"a".repeat(250)}@agent.example`] },
  ])("are rejected when invalid: %j", (changes) => {
    expect(refusal(changes)).toMatchObject({ error: "invalid_client_metadata" });
  });

  it("exclude members that would make the server send requests", () => {
    const uri = "https://169.254.169.254/latest";
    const changes = normalize({
      sector_identifier_uri: uri,
      initiate_login_uri: uri,
      backchannel_logout_uri: uri,
    });
    expect(changes).toMatchObject({
      sector_identifier_uri: undefined,
      initiate_login_uri: undefined,
      backchannel_logout_uri: undefined,
    });
  });
});

describe("the public keys of a registration", () => {
  const jwkOf = (type: "ec" | "ed25519" | "x25519" | "rsa", options: object = {}) =>
    generateKeyPairSync(type as "rsa", options as { modulusLength: number }).publicKey.export({
      format: "jwk",
    });
  const ec = jwkOf("ec", { namedCurve: "P-256" });
  const rsa = jwkOf("rsa", { modulusLength: 2048 });
  const withKeys = (...keys: unknown[]) => ({
    token_endpoint_auth_method: "private_key_jwt",
    jwks: { keys },
  });

  it("are stored without unrelated members", () => {
    const named = { ...ec, kid: "a", use: "sig", alg: "ES256" };
    const junk = { x5c: ["a"], x5u: "https://agent.example/cert", key_ops: ["sign"], more: {} };
    const edwards = jwkOf("ed25519");
    expect(normalize(withKeys({ ...named, ...junk }, edwards, rsa))).toMatchObject({
      jwks: { keys: [named, edwards, rsa] },
    });
    expect(normalize(withKeys({ ...named, ...junk }))).toHaveProperty("jwks", { keys: [named] });
  });

  it("may be absent", () => {
    expect(normalize({})).toMatchObject({ jwks: undefined });
  });

  it.each([
    ["an empty key set", { jwks: { keys: [] } }],
    ["keys that are not an array", { jwks: { keys: ec } }],
    ["a string instead of a key set", { jwks: "https://agent.example/keys" }],
    ["null instead of a key set", { jwks: null }],
    ["an array instead of a key set", { jwks: [ec] }],
    ["more than twenty keys", withKeys(...Array.from({ length: 21 }, () => ec))],
    ["a key that is not an object", withKeys("a")],
    ["a null key", withKeys(null)],
    ["a private key", withKeys({ ...ec, d: "AA" })],
    ["a private RSA member", withKeys({ ...rsa, p: "AA" })],
    ["a symmetric key", withKeys({ kty: "oct", k: "AA" })],
    ["a symmetric key member in a public key", withKeys({ ...ec, k: "AA" })],
    ["a key for encryption", withKeys(jwkOf("x25519"))],
    ["an unknown key type", withKeys({ kty: "XYZ" })],
    ["a point that is not on the curve", withKeys({ ...ec, x: ec.y })],
    ["a short RSA key", withKeys(jwkOf("rsa", { modulusLength: 1024 }))],
    ["a huge RSA exponent", withKeys({ ...rsa, e: "__________8" })],
    ["a huge RSA modulus", withKeys({ ...rsa, n: "x".repeat(1200) })],
    ["a valid key and an invalid one", withKeys(ec, { kty: "oct", k: "AA" })],
  ])("are rejected with %s", (_what, changes) => {
    expect(refusal(changes)).toMatchObject({ error: "invalid_client_metadata" });
  });
});

describe("the whole body of a registration", () => {
  const fault = (text: string): unknown => {
    try {
      checkRegistrationBody(JSON.parse(text));
    } catch (error) {
      return error;
    }
    return "accepted";
  };

  it("is rejected when it is nested more than eight levels deep", () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    expect(fault(nested(8))).toBe("accepted");
    expect(fault(nested(9))).toMatchObject({ error: "invalid_client_metadata" });
    expect(fault(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`)).toMatchObject({
      error: "invalid_client_metadata",
    });
  });

  it.each(['{"__proto__":{}}', '{"a":[{"__proto__":1}]}'])(
    "cannot pollute object prototypes: %s",
    (text) => {
      expect(fault(text)).toMatchObject({ error: "invalid_client_metadata" });
    },
  );

  it("is rejected with a software statement, since no issuer of software statements is trusted", () => {
    expect(fault('{"software_statement":"a.b.c"}')).toMatchObject({
      error: "unapproved_software_statement",
    });
  });
});
