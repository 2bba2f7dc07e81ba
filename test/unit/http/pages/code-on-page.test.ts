import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/config/config.ts";
import { isLocalSandbox, mayBeProxied } from "../../../../src/http/pages/code-on-page.ts";

const LOCAL = "http://127.0.0.1:3000";

describe("a sign-in code on the page", () => {
  it.each([
    ["a sandbox without settings", {}, LOCAL, true],
    [
      "a sandbox that listens on the loopback address of IPv6",
      { HOST: "::1" },
      "http://[::1]:3000",
      true,
    ],
    ["a sandbox that listens everywhere", { HOST: "0.0.0.0", BASE_URL: LOCAL }, LOCAL, false],
    ["a sandbox with a public address", {}, "https://signals.example", false],
    ["a sandbox behind a proxy", { TRUST_PROXY: "1" }, LOCAL, false],
    [
      "a sandbox that sends mail",
      { SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "a@b.example" },
      LOCAL,
      false,
    ],
    ["a recorded market", { MARKET: "files:/data" }, LOCAL, false],
    ["a live market", { MARKET: "live" }, LOCAL, false],
  ])("is for a local sandbox alone: %s", (_, env, baseUrl, expected) => {
    expect(isLocalSandbox(readConfig(env), baseUrl)).toBe(expected);
  });

  it.each([
    ["localhost:3000", "1.1", false],
    ["[::1]:3000", "1.1", false],
    ["signals.example", "1.1", true],
    ["127.0.0.1.evil.example", "1.1", true],
    [undefined, "1.1", true],
    ["127.0.0.1:3000", "1.0", true],
  ])(
    "is not for a request to %s by HTTP/%s that a proxy may have sent: %s",
    (host, httpVersion, expected) => {
      const req = { headers: { host }, httpVersion } as unknown as IncomingMessage;
      expect(mayBeProxied(req)).toBe(expected);
    },
  );
});
