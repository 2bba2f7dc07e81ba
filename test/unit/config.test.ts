import { describe, expect, it } from "vitest";
import { readConfig } from "../../src/config/config.ts";

const upstream = { OIDC_CLIENT_ID: "market-signal", OIDC_CLIENT_SECRET: "secret" };
const mail = { MAIL_FROM: "signals@mail.example" };

describe("a mail server", () => {
  it.each(["smtp://", "smtps://", "smtp:///path", "smtp://user:password@", "smtp://?x=1"])(
    "is refused without a host: %s",
    (SMTP_URL) => {
      const read = () => readConfig({ ...mail, SMTP_URL });
      expect(read).toThrow(/^SMTP_URL: its value is not an address with a host, such as smtps:/);
    },
  );

  it.each(["smtp://127.0.0.1", "smtp://[::1]:25", "smtps://user:password@mail.example:465"])(
    "is taken with one: %s",
    (SMTP_URL) => {
      expect(readConfig({ ...mail, SMTP_URL }).mail?.smtpUrl).toBe(SMTP_URL);
    },
  );
});

describe("another OpenID provider", () => {
  it.each([
    "http://login.example",
    "http://localhost.evil.example",
    "http://10.0.0.1",
    "ftp://login.example",
    "login.example",
    "https://",
  ])("is refused where nothing would believe it: %s", (OIDC_ISSUER) => {
    const read = () => readConfig({ ...upstream, OIDC_ISSUER });
    expect(read).toThrow(/^OIDC_ISSUER: ".*" is not an issuer such as .* http:\/\/ only on this/);
  });

  it.each([
    "https://login.example/realms/one",
    "http://127.0.0.1:9000",
    "http://localhost:9000",
    "http://[::1]:9000",
  ])("is taken with TLS, or on this machine: %s", (OIDC_ISSUER) => {
    expect(readConfig({ ...upstream, OIDC_ISSUER }).upstream?.issuer).toBe(OIDC_ISSUER);
  });
});
