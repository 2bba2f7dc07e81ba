import { describe, expect, it } from "vitest";
import { normaliseRegistration } from "../../../../src/auth/oidc/registration.ts";
import { anonymousCeiling, type Scope } from "../../../../src/auth/scopes.ts";
import { EXAMPLE_REGISTRATION as example } from "../../../support/agent.ts";

const codeClient = { ...example, grant_types: ["authorization_code"], response_types: ["code"] };

function normalise(changes: object, anonymousScopes: readonly Scope[] = anonymousCeiling) {
  return normaliseRegistration({ ...example, ...changes }, anonymousScopes);
}

function refusal(changes: object, anonymousScopes?: readonly Scope[]): unknown {
  try {
    normalise(changes, anonymousScopes);
  } catch (error) {
    return error;
  }
  return "accepted";
}

describe("the grants of a registration", () => {
  it("accepts the example body and drops what the server does not offer", () => {
    expect(normalise({})).toMatchObject({
      client_name: "Example Agent",
      grant_types: ["client_credentials"],
      response_types: [],
      scope: "signals:read darkpool:read factor:read",
      application_type: "web",
    });
  });

  it("keeps the code response type only with the authorization code grant", () => {
    expect(normalise(codeClient)).toMatchObject({ response_types: ["code"] });
    expect(normalise({ response_types: ["code"] })).toMatchObject({ response_types: [] });
  });

  it.each([
    [{ grant_types: ["password"] }, "grant_types"],
    [{ grant_types: [] }, "grant_types"],
    [{ grant_types: "client_credentials" }, "grant_types must be an array"],
    [{ token_endpoint_auth_method: "none" }, "token_endpoint_auth_method other than none"],
  ])("refuses %j", (changes, description) => {
    expect(refusal(changes)).toMatchObject({
      error: "invalid_client_metadata",
      error_description: expect.stringContaining(description),
    });
  });

  it("lets a public client use the authorization code", () => {
    const accepted = normalise({ ...codeClient, token_endpoint_auth_method: "none" });
    expect(accepted).toMatchObject({ grant_types: ["authorization_code"] });
  });
});

describe("the scope of a registration", () => {
  it.each([
    ["alerts:write signals:read", "signals:read"],
    ["signals:read  signals:read openid admin", "signals:read"],
    [undefined, "signals:read factor:read darkpool:read"],
    ["", "signals:read factor:read darkpool:read"],
  ])("turns %j into %j for an agent on its own", (asked, granted) => {
    expect(normalise({ scope: asked })).toMatchObject({ scope: granted });
  });

  it.each(["alerts:write", "admin root", "SIGNALS:READ"])("refuses %j alone", (scope) => {
    expect(refusal({ scope })).toMatchObject({
      error: "invalid_scope",
      status: 400,
      error_description: expect.stringContaining("alerts:write needs an agent claimed by a person"),
    });
  });

  it("refuses every agent on its own when the operator allows no scope", () => {
    expect(refusal({}, [])).toMatchObject({ error: "invalid_scope" });
    expect(refusal({ scope: undefined }, [])).toMatchObject({ error: "invalid_scope" });
  });

  it("leaves alerts:write to a client that asks a person", () => {
    expect(normalise({ ...codeClient, scope: "alerts:write" })).toMatchObject({
      scope: "alerts:write",
    });
  });

  it("refuses a scope that is not a string", () => {
    expect(refusal({ scope: ["signals:read"] })).toMatchObject({
      error: "invalid_client_metadata",
    });
  });
});

describe("the redirects of a registration", () => {
  it.each([
    [["https://agent.example/callback"], "web"],
    [["https://agent.example/callback", "http://127.0.0.1:8976/callback"], "native"],
    [["http://[::1]/callback"], "native"],
    [["cursor://anysphere.mcp/callback"], "native"],
  ])("makes a client with %j a %s one", (redirect_uris, application_type) => {
    expect(normalise({ redirect_uris })).toMatchObject({ application_type });
  });

  it.each([
    [["http://agent.example/callback"]],
    [["https://agent.example/\ncallback"]],
    [["/callback"]],
    [[7]],
    [[`https://agent.example/${"a".repeat(2000)}`]],
    [Array.from({ length: 11 }, (_, port) => `https://agent.example/${port}`)],
    ["https://agent.example/callback"],
  ])("refuses %j", (redirect_uris) => {
    expect(refusal({ redirect_uris })).toMatchObject({ error: "invalid_redirect_uri" });
  });

  it("needs one for the authorization code, and says when not", () => {
    expect(refusal({ ...codeClient, redirect_uris: [] })).toMatchObject({
      error: "invalid_redirect_uri",
      error_description: expect.stringContaining("client_credentials alone"),
    });
    expect(normalise({ redirect_uris: undefined })).toMatchObject({ application_type: "web" });
  });
});

describe("the text of a registration", () => {
  it("composes a name to normal form C and keeps every script and mark-up as text", () => {
    expect(normalise({ client_name: "Cafe\u0301 <b> 分析 👩‍🔬" })).toMatchObject({
      client_name: "Caf\u00e9 <b> 分析 👩‍🔬",
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
  ])("refuses the name %j", (client_name) => {
    expect(refusal({ client_name })).toMatchObject({
      error: "invalid_client_metadata",
      error_description: expect.stringContaining("client_name"),
    });
  });

  it("counts characters, not bytes, up to one hundred", () => {
    expect(normalise({ client_name: "😀".repeat(100) })).toMatchObject({
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
  ])("refuses %j", (changes) => {
    expect(refusal(changes)).toMatchObject({ error: "invalid_client_metadata" });
  });

  it("removes members that would make the server call out", () => {
    const uri = "https://169.254.169.254/latest";
    const changes = normalise({
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
