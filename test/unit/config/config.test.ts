import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config/config.ts";

const upstream = { OIDC_CLIENT_ID: "market-signal", OIDC_CLIENT_SECRET: "secret" };
const mail = { MAIL_FROM: "signals@mail.example" };

describe("who can create an account", () => {
  const files = { MARKET: `files:${import.meta.dirname}`, AS_OF: "2014-06-30T21:00:00Z" };

  it.each([
    [{ MARKET: "sandbox" }, "open"],
    [files, "applications"],
    [{ MARKET: files.MARKET, REPLAY: "2014-01-02/2014-12-31@2" }, "applications"],
    [{ MARKET: "live" }, "applications"],
  ])("depends on the market unless SIGN_UP says so: %j", (market, signUp) => {
    expect(readConfig(market).signUp).toBe(signUp);
    for (const SIGN_UP of ["open", "applications", "closed"]) {
      expect(readConfig({ ...market, SIGN_UP }).signUp).toBe(SIGN_UP);
    }
  });
});

describe("the URL of a mail server", () => {
  it.each(["smtp://", "smtps://", "smtp:///path", "smtp://user:password@", "smtp://?x=1"])(
    "is rejected without a host: %s",
    (SMTP_URL) => {
      const read = () => readConfig({ ...mail, SMTP_URL });
      expect(read).toThrow(/^SMTP_URL: its value is not an address with a host, such as smtps:/);
    },
  );

  it.each(["smtp://127.0.0.1", "smtp://[::1]:25", "smtps://user:password@mail.example:465"])(
    "is accepted with a host: %s",
    (SMTP_URL) => {
      expect(readConfig({ ...mail, SMTP_URL }).mail?.smtpUrl).toBe(SMTP_URL);
    },
  );
});

describe("the issuer URL of an external OpenID provider", () => {
  it.each([
    "http://login.example",
    "http://localhost.evil.example",
    "http://10.0.0.1",
    "ftp://login.example",
    "login.example",
    "https://",
  ])("is rejected when its responses could not be trusted: %s", (OIDC_ISSUER) => {
    const read = () => readConfig({ ...upstream, OIDC_ISSUER });
    expect(read).toThrow(/^OIDC_ISSUER: ".*" is not an issuer such as .* http:\/\/ only on this/);
  });

  it.each([
    "https://login.example/realms/one",
    "http://127.0.0.1:9000",
    "http://localhost:9000",
    "http://[::1]:9000",
  ])("is accepted with HTTPS or on the local machine: %s", (OIDC_ISSUER) => {
    expect(readConfig({ ...upstream, OIDC_ISSUER }).upstream?.issuer).toBe(OIDC_ISSUER);
  });
});

describe("an invalid setting", () => {
  it.each([
    [{ PORT: "99999" }, "PORT", "from 0 to 65535"],
    [{ MARKET: "paper" }, "MARKET", "sandbox, live, or files:<folder>"],
    [{ BASE_URL: "https://example.com/" }, "BASE_URL", "without a path or trailing slash"],
    [{ AS_OF: "yesterday", MARKET: "files:/nowhere" }, "AS_OF", "2015-06-30T21:00:00Z"],
    [{ AS_OF: "2015-06-30T21:00:00Z" }, "AS_OF", "MARKET=files"],
    [{ ANONYMOUS_SCOPES: "alerts:write" }, "ANONYMOUS_SCOPES", "signals:read"],
    [{ SANDBOX_SESSION_SECONDS: "0" }, "SANDBOX_SESSION_SECONDS", "from 1 to 86400"],
    [{ SEED: "-1" }, "SEED", "4294967295"],
    [{ LOG_LEVEL: "loud" }, "LOG_LEVEL", "info"],
    [{ MARKET: "live", PROVIDERS: "bitfinex" }, "PROVIDERS", "coinbase, kraken"],
  ])("is rejected with the allowed values: %o", (env, name, allowed) => {
    const read = () => readConfig(env);
    expect(read).toThrow(name);
    expect(read).toThrow(allowed);
  });
});

describe("the drain time, during which a stopping process still accepts connections,", () => {
  const DATABASE_URL = "postgres://user@host/database";
  it.each([
    ["zero with the embedded store", {}, 0],
    ["two seconds with a shared database", { DATABASE_URL }, 2_000],
    ["the value of DRAIN_SECONDS", { DATABASE_URL, DRAIN_SECONDS: "7" }, 7_000],
  ])("is %s", (_, env, ms) => {
    expect(readConfig(env).drainMs).toBe(ms);
  });
});

describe("the webhook settings", () => {
  it("default to secure URLs and direct connections", () => {
    expect(readConfig({}).webhooks).toEqual({ allowsInsecure: false, proxy: undefined });
    expect(readConfig({ ALLOW_INSECURE_WEBHOOKS: "0" }).webhooks.allowsInsecure).toBe(false);
  });

  it("can allow insecure URLs and set an egress proxy", () => {
    const WEBHOOK_EGRESS_PROXY = "http://user:password@proxy.example:3128";
    const { webhooks } = readConfig({ ALLOW_INSECURE_WEBHOOKS: "1", WEBHOOK_EGRESS_PROXY });
    expect(webhooks).toEqual({ allowsInsecure: true, proxy: WEBHOOK_EGRESS_PROXY });
  });

  it.each(["true", "yes", "2"])("reject ALLOW_INSECURE_WEBHOOKS=%s", (value) => {
    const read = () => readConfig({ ALLOW_INSECURE_WEBHOOKS: value });
    expect(read).toThrow(/^ALLOW_INSECURE_WEBHOOKS: .* is not 0, or for development 1\.$/);
  });

  it.each([
    "proxy:3128",
    "socks5://proxy",
    "http://",
    "http://proxy/path",
    "https://p/?a",
    "http",
    "http://us%er:x@host:1",
  ])("reject WEBHOOK_EGRESS_PROXY=%s without repeating the value", (value) => {
    const read = () => readConfig({ WEBHOOK_EGRESS_PROXY: value });
    expect(read).toThrow(/^WEBHOOK_EGRESS_PROXY: its value is not a proxy such as http:/);
  });
});
