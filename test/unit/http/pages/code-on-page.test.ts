import type { IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../../../src/config/config.ts";
import { createCodeOnPage, mayBeProxied } from "../../../../src/http/pages/code-on-page.ts";

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
    expect(createCodeOnPage(readConfig(env), baseUrl) !== undefined).toBe(expected);
  });

  it("is for browsers with the token of this process, which another process does not know", () => {
    const [here, elsewhere] = [LOCAL, LOCAL].map((url) => createCodeOnPage(readConfig({}), url));
    const token = new URL(here?.link ?? "").searchParams.get("here");
    const headers = { host: "127.0.0.1:3000", cookie: `market-signal-here=${token}` };
    const isShown = (code: typeof here, more = {}) =>
      code?.isShownTo({ headers: { ...headers, ...more }, httpVersion: "1.1" } as IncomingMessage);
    expect(isShown(here)).toBe(true);
    expect(isShown(elsewhere)).toBe(false);
    for (const other of ["", "A".repeat(43), token?.slice(0, 42)]) {
      expect(isShown(here, { cookie: `market-signal-here=${other}` })).toBe(false);
    }
    expect(isShown(here, { cookie: undefined })).toBe(false);
    for (const [name, value] of [
      ["forwarded", "for=203.0.113.7"],
      ["x-forwarded-for", "203.0.113.7"],
      ["x-forwarded-host", "127.0.0.1"],
      ["x-real-ip", "127.0.0.1"],
      ["via", "1.1 proxy"],
      ["cf-connecting-ip", "203.0.113.7"],
    ] as const) {
      expect(isShown(here, { [name]: value }), name).toBe(false);
    }
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
