// @module-tag full

import { describe, expect, it } from "vitest";
import { LOOSE_LIMITS, startTestService } from "../support/test-service.ts";
import { createWeb } from "../support/web.ts";

const limits = "code-mails=20/100000/1000000 mailbox-codes=5/10/12";
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
  it.each([
    ["IPv4", (at: number) => `198.51.100.4${at}`],
    ["IPv6", (at: number) => `2001:db8:1:${at}00::1`],
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
    expect((await person.signIn()).url.pathname).toBe("/account");
  });

  it("gets no additional codes from a browser in which somebody else has signed in, nor from a browser that is over its limit", async () => {
    const [attacker, victim] = [testService.person("attacker@example.com"), "other@example.com"];
    await attacker.signIn();
    expect(await ask(victim, "127.0.0.1", 6)).toBe(429);
    expect(await askAt(attacker.web, victim)).toBe(429);
  });
});

describe("an attacker with many addresses of one network", () => {
  it("gets no more codes than the network's number allows, whatever mailboxes it names", async () => {
    const { base: own } = await startTestService({
      TRUST_PROXY: "1",
      RATE_LIMITS: `${LOOSE_LIMITS} code-mails=2/3/1000`,
    });
    const statuses = [];
    for (let at = 0; at < 5; at += 1) {
      statuses.push(await ask(`person${at}@example.com`, `2001:db8:1:${at}00::1`, 1, own));
    }
    expect(statuses).toEqual([303, 303, 303, 429, 429]);
    expect(await ask("another@example.com", "2001:db8:2::1", 1, own)).toBe(303);
  });
});
