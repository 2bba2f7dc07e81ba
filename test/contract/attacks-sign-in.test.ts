// @module-tag full

import { describe, expect, it } from "vitest";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { createWeb } from "../support/web.ts";

const limits =
  "code-address=20/3600 code-email=5/3600 code-email-network=10/3600 code-email-all=12/3600 code-browser=2/3600";
const testService = await startTestService({
  RATE_LIMITS: `${LOOSE_LIMITS} ${limits}`,
  TRUST_PROXY: "1",
});
const { base } = testService;

/** Requests sign-in codes for an email address from an IP address. @returns The last status. */
async function ask(email: string, from: string, times = 1, at = base): Promise<number> {
  const web = createWeb(at);
  const { action, fields } = (await web.get("/sign-in")).form("/sign-in");
  let status = 0;
  for (let count = 0; count < times; count += 1) {
    const body = new URLSearchParams(fields as [string, string][]);
    body.set("email", email);
    const headers = { cookie: web.cookie(action), origin: at, "x-forwarded-for": from };
    const answer = await fetch(action, { method: "POST", headers, body, redirect: "manual" });
    status = answer.status;
  }
  return status;
}

const askAt = async (web: ReturnType<typeof createWeb>, email: string) => {
  const page = await web.get("/sign-in");
  return (await web.submit(page.form("/sign-in"), { email })).status;
};

describe("an attacker who requests sign-in codes for a person's email address", () => {
  it("does not prevent the person from signing in from another IP address", async () => {
    const email = "victim@example.com";
    expect(await ask(email, "198.51.100.1", 6)).toBe(429);
    expect(await ask(email, "203.0.113.1")).toBe(303);
  });

  it("cannot fill the person's mailbox by using many IP addresses", async () => {
    const email = "mailbox@example.com";
    for (const at of [1, 2, 3]) await ask(email, `198.51.${at}.1`, 5);
    expect(await ask(email, "203.0.113.2")).toBe(429);
    expect(await testService.codesTo(email)).toHaveLength(12);
  });

  it.each([
    ["IPv4", (at: number) => `198.51.100.4${at}`],
    ["IPv6", (at: number) => `2001:db8:${at}::1`],
  ])(
    "does not lock out the person by using many IP addresses of one %s network",
    async (version, addressOf) => {
      const email = `${version}@example.com`;
      for (const at of [1, 2, 3]) await ask(email, addressOf(at), 5);
      expect(await ask(email, addressOf(4))).toBe(429);
      expect(await ask(email, "203.0.113.3")).toBe(303);
    },
  );

  it("does not lock out a browser in which the person has signed in before, even at the same IP address", async () => {
    const person = testService.person("known@example.com");
    await person.signIn();
    const account = await person.web.get("/account");
    await person.web.submit(account.form("/sign-out"));
    for (const at of [1, 2, 3]) await ask(person.email, `198.51.${at}.2`, 5);
    await ask(person.email, "127.0.0.1", 6);
    expect(await askAt(createWeb(base), person.email)).toBe(429);
    expect((await person.signIn()).url.pathname).toBe("/account");
  });

  it("gets no additional codes from a browser in which somebody else has signed in, nor from a browser that is over its limit", async () => {
    const [attacker, victim] = [testService.person("attacker@example.com"), "other@example.com"];
    await attacker.signIn();
    expect(await ask(victim, "127.0.0.1", 6)).toBe(429);
    expect(await askAt(attacker.web, victim)).toBe(429);
    const own = [];
    for (let at = 0; at < 3; at += 1) own.push(await askAt(attacker.web, attacker.email));
    expect(own).toEqual([200, 200, 429]);
  });
});

describe("a person who signs in repeatedly", () => {
  it("gets no more codes by using several known browsers", async () => {
    const email = "many-browsers@example.com";
    const known = "market-signal-known";
    const [first, second] = [testService.person(email), testService.person(email)];
    await first.signIn();
    await second.signIn();
    expect(first.web.cookie(base)).toContain(known);
    expect(second.web.cookie(base)).toContain(known);
    const asked = [];
    for (const { web } of [first, second, first, second]) asked.push(await askAt(web, email));
    expect(asked).toEqual([200, 200, 429, 429]);
  });
});

describe("an attacker with many networks", () => {
  const flooded = async (limits: string) => {
    const { base } = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} ${limits}`,
    });
    let asked = 0;
    /** Sends one request from each IP address. @returns The number of accepted requests. */
    return async (...addresses: readonly string[]) => {
      const statuses = [];
      for (const from of addresses) {
        asked += 1;
        statuses.push(await ask(`person${asked}@example.com`, from, 1, base));
      }
      return statuses.filter((status) => status === 303).length;
    };
  };

  it("gets no more codes than the limits per /48 network and per /32 provider allow", async () => {
    const taken = await flooded("code-address-site=3/3600 code-address-provider=7/3600");
    const homes = ["100", "200", "300", "400", "500"].map((home) => `2001:db8:1:${home}::1`);
    expect(await taken(...homes)).toBe(3);
    expect(await taken(...[2, 3, 4, 5, 6, 7].map((site) => `2001:db8:${site}::1`))).toBe(4);
    expect(await taken("2001:db9::1", "192.0.2.1")).toBe(2);
  });

  it("leaves other networks a share of the total limit on codes", async () => {
    const taken = await flooded("code-address-all=40/3600");
    expect(await taken(...Array.from({ length: 9 }, (_, at) => `198.51.100.${at}`))).toBe(3);
    expect(await taken("203.0.113.1")).toBe(1);
  });
});
