import { describe, expect, it } from "vitest";
import {
  OPERATOR_LINK_LIFETIME_MS,
  OPERATOR_VISIT_LIFETIME_MS,
} from "../../src/auth/operator-access.ts";
import { setupCommand } from "../../src/cli/commands/setup.ts";
import { startTestService } from "../support/test-service.ts";

const SECRETS = {
  SMTP_URL: "smtp://mailer:hush-mail@127.0.0.1:2525",
  MASTER_KEY: "aHVzaC1tYXN0ZXIta2V5LWh1c2gtbWFzdGVyLWtleSE=",
} as const;

const testService = await startTestService({ ...SECRETS, MAIL_FROM: "signals@example.com" });
const { base, clock, service } = testService;

/** Returns an operator link, as the command line prints it. */
async function newLink(): Promise<string> {
  const { state } = service;
  const outcome = await setupCommand.run(
    {},
    {
      store: state.store,
      folder: "",
      keyring: () => Promise.resolve(state.keyring),
      now: () => clock.now.getTime(),
      holder: "server",
      site: { name: "Test", baseUrl: base },
    },
    () => {},
  );
  expect(outcome.lines).toEqual([outcome.result.link]);
  return String(outcome.result.link);
}

const open = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { headers, redirect: "manual" });

const pass = (ms: number) => {
  clock.now = new Date(clock.now.getTime() + ms);
};

/** Opens a link. @returns The cookie that the link sets. */
async function visit(): Promise<string> {
  const response = await open(await newLink());
  expect(response.status).toBe(303);
  expect(response.headers.get("location")).toBe("/operator");
  expect(response.headers.get("referrer-policy")).toBe("no-referrer");
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/; HttpOnly/i);
  expect(cookie).toMatch(/; SameSite=Strict/i);
  return cookie.split(";")[0] ?? "";
}

describe("GET /operator", () => {
  it("shows what is configured and what is missing to a visitor with the link", async () => {
    const response = await open(`${base}/operator`, { cookie: await visit() });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    const page = await response.text();
    expect(page).toContain("Set up this service");
    expect(page).toContain("Sent from signals@example.com.");
    expect(page).toContain("only this machine reaches it");
    expect(page).toMatch(/Address <span class="tag">Next<\/span>/);
  });

  it("shows no secret settings", async () => {
    const page = await (await open(`${base}/operator`, { cookie: await visit() })).text();
    for (const secret of ["hush-mail", "mailer:", SECRETS.SMTP_URL, SECRETS.MASTER_KEY]) {
      expect(page).not.toContain(secret);
    }
  });

  it("shows nothing without the link, even to a local visitor, a signed-in person or the holder of a forged cookie", async () => {
    const someone = testService.person();
    await someone.signIn();
    const visitPass = (await visit()).split("=").slice(1).join("=");
    const name = "market-signal-operator";
    const attempts = [
      await open(`${base}/operator`),
      await open(`${base}/operator`, { "x-forwarded-for": "127.0.0.1", host: "localhost" }),
      await someone.web.get("/operator"),
      await open(`${base}/operator`, { cookie: `${name}=v1.${"A".repeat(60)}` }),
      await open(`${base}/operator`, { cookie: `${name}=` }),
      // A visit's pass is not valid as a link, and a link's pass is not valid as a cookie.
      await open(`${base}/operator?link=${visitPass}`),
      await open(`${base}/operator`, {
        cookie: `${name}=${new URL(await newLink()).searchParams.get("link")}`,
      }),
      await open(`${base}/operator?link=`),
    ];
    for (const attempt of attempts) {
      expect(attempt.status).toBe(403);
      const text = "html" in attempt ? attempt.html : await attempt.text();
      expect(text).toContain("npx --no-install market-signal admin setup");
      expect(text).not.toContain("Sent from");
    }
  });

  it("opens with a link that is valid for ten minutes, and stays open for an hour", async () => {
    const link = await newLink();
    pass(OPERATOR_LINK_LIFETIME_MS - 1);
    expect((await open(link)).status).toBe(303);
    pass(1);
    const late = await open(link);
    expect(late.status).toBe(403);
    expect(await late.text()).toContain("This link has expired");

    const cookie = await visit();
    pass(OPERATOR_VISIT_LIFETIME_MS - 1);
    expect((await open(`${base}/operator`, { cookie })).status).toBe(200);
    pass(1);
    expect((await open(`${base}/operator`, { cookie })).status).toBe(403);
  });
});
