import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config/config.ts";
import { providerIds } from "../../../src/sources/live/provider-ids.ts";
import { providers } from "../../../src/sources/live/providers.ts";
import type { LiveMarketSettings } from "../../../src/sources/open-market.ts";

const LIVE = { MARKET: "live" };

const chosen = (env: Readonly<Record<string, string>>) =>
  readConfig({ ...LIVE, ...env }).market as { readonly kind: string } & LiveMarketSettings;

it("the settings of each provider are stored under the provider's id", () => {
  expect(providers.map(({ id }) => id)).toEqual(providerIds);
});

describe("the settings of a live market", () => {
  it("have usable defaults for everything but the kind of market", () => {
    expect(readConfig(LIVE)).toMatchObject({
      market: { kind: "live", settings: {}, origins: {} },
      anonymousScopes: [],
      signUp: "applications",
    });
    expect([chosen({}).universe, chosen({}).providers]).toEqual([undefined, undefined]);
  });

  it("allow unclaimed agents only the scopes that the operator specifies", () => {
    const { anonymousScopes } = readConfig({ ...LIVE, ANONYMOUS_SCOPES: "signals:read" });
    expect(anonymousScopes).toEqual(["signals:read"]);
    expect(readConfig({}).anonymousScopes.length).toBeGreaterThan(1);
  });

  it("contain the operator's values", () => {
    const choice = chosen({
      UNIVERSE: "AAPL BTC-USD",
      PROVIDERS: "coinbase, alpaca",
      PROVIDER_URLS: "coinbase=https://mirror.example  jetstream=ws://127.0.0.1:8080",
      APCA_API_KEY_ID: "AK1",
      APCA_API_SECRET_KEY: "s/+=",
      SEC_USER_AGENT: "Example Ltd data@example.com",
      MASSIVE_API_KEY: "",
      UNUSUAL_WHALES_API_KEY: "whale",
    });
    expect(choice).toEqual({
      kind: "live",
      universe: "AAPL BTC-USD",
      providers: ["coinbase", "alpaca"],
      origins: { coinbase: "https://mirror.example", jetstream: "ws://127.0.0.1:8080" },
      settings: {
        SEC_USER_AGENT: "Example Ltd data@example.com",
        APCA_API_KEY_ID: "AK1",
        APCA_API_SECRET_KEY: "s/+=",
        UNUSUAL_WHALES_API_KEY: "whale",
      },
    });
  });

  it("must not include AS_OF or REPLAY", () => {
    const history = (name: string) => `${name}: only history `;
    expect(() => chosen({ AS_OF: "2015-06-30T21:00:00Z" })).toThrow(history("AS_OF"));
    expect(() => chosen({ REPLAY: "2014-01-02/2014-12-31@2" })).toThrow(history("REPLAY"));
  });
});

describe("an invalid provider setting", () => {
  it.each(["coinbase,bitfinex", "Coinbase", "coinbase=1"])(
    "is rejected with the allowed values: PROVIDERS=%s",
    (PROVIDERS) => {
      expect(() => chosen({ PROVIDERS })).toThrow(
        `PROVIDERS: ${JSON.stringify(PROVIDERS)} is not names of providers, separated by spaces, of ${providerIds.join(", ")}.`,
      );
    },
  );

  it.each([
    "coinbase",
    "coinbase=",
    "=https://mirror.example",
    "bitfinex=https://mirror.example",
    "coinbase=https://mirror.example/",
    "coinbase=https://mirror.example/path",
    "coinbase=https://mirror.example?key=1",
    "coinbase=mirror.example",
    "coinbase=file://mirror",
    "coinbase=https://mirror.example:port",
  ])("is rejected with the allowed values: PROVIDER_URLS=%s", (PROVIDER_URLS) => {
    expect(() => chosen({ PROVIDER_URLS })).toThrow(
      `PROVIDER_URLS: ${JSON.stringify(PROVIDER_URLS)} is not <provider>=<address without a path>, separated by spaces, such as coinbase=https://mirror.example; providers: ${providerIds.join(", ")}.`,
    );
  });

  it.each(["nobody", "data@example", "Exämple data@example.com", "a@b.c\r\nX-Other: 1"])(
    "is rejected with the allowed values: SEC_USER_AGENT=%j",
    (SEC_USER_AGENT) => {
      expect(() => chosen({ SEC_USER_AGENT })).toThrow(
        "is not a name and an email address, such as Example Ltd data@example.com.",
      );
    },
  );

  it.each([
    ["APCA_API_KEY_ID", "a key of Alpaca"],
    ["APCA_API_SECRET_KEY", "a secret of Alpaca"],
    ["MASSIVE_API_KEY", "a key of Massive"],
    ["UNUSUAL_WHALES_API_KEY", "a key of Unusual Whales"],
  ])("is rejected without disclosing the value: %s", (name, allowed) => {
    for (const key of ["top secret", "secret\r\nX-Other: 1", "s".repeat(501), "gehäim"]) {
      expect(() => chosen({ [name]: key })).toThrow(
        new Error(`${name}: its value is not ${allowed}.`),
      );
    }
  });
});
