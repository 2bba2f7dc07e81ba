import { describe, expect, it } from "vitest";
import { readConfig } from "../../../src/config/config.ts";
import { parseLimits } from "../../../src/config/rate-limits.ts";
import { formerNames } from "../../../src/limits/former-names.ts";

describe("RATE_LIMITS", () => {
  it("sets the three numbers of classes", () => {
    expect(parseLimits("alerts=1/2/3")).toEqual({ alerts: { caller: 1, network: 2, total: 3 } });
    expect(parseLimits(" calls=1/2/3  claims=4/5/6 ")).toEqual({
      calls: { caller: 1, network: 2, total: 3 },
      claims: { caller: 4, network: 5, total: 6 },
    });
  });

  it("takes a former name whose window is as long, and makes the wider numbers no smaller", () => {
    expect(parseLimits("register=5000/600 register-site=6000/600")).toEqual({
      registrations: { caller: 5_000, network: 6_000, total: 100_000 },
    });
    expect(parseLimits("authorize-all=50/600 calls=700/60")).toEqual({
      authorizations: { caller: 300, network: 1_000, total: 50 },
      calls: { caller: 700, network: 12_000, total: 600_000 },
    });
  });

  it.each(Object.keys(formerNames))("names what replaces %s where its window differs", (name) => {
    const [replacement] = formerNames[name] ?? [];
    expect(() => parseLimits(`${name}=5/7`)).toThrow(`write ${replacement}=<caller>/`);
  });

  it("stops the start with a message that says what is wrong", () => {
    expect(() => readConfig({ RATE_LIMITS: "nothing=1/2/3" })).toThrow(
      /^RATE_LIMITS: .* nothing=1\/2\/3 names no limit; the names are calls, /,
    );
    expect(() => parseLimits("streams=1/2/3")).toThrow("names no limit");
    expect(() => readConfig({ RATE_LIMITS: "wrong-code=1/60" })).toThrow(
      "write guesses=<caller>/<network>/<total> instead, within 900 seconds",
    );
  });
});
