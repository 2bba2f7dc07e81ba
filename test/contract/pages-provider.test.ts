import { beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../support/free-port.ts";
import { startOpenIdProvider } from "../support/openid-provider.ts";
import { startTestService } from "../support/test-service.ts";
import { createWeb, textOf } from "../support/web.ts";

const port = await freePort();
const host = `127.0.0.1:${port}`;
const client = {
  OIDC_CLIENT_ID: "market-signal",
  OIDC_CLIENT_SECRET: "secret of the client",
};
const testService = await startTestService({ ...client, OIDC_ISSUER: `http://${host}` });
const { base } = testService;

/** The external provider uses the system clock, so the test clock follows it. */
beforeEach(() => {
  testService.clock.now = new Date();
});

const startProvider = () =>
  startOpenIdProvider({ redirectUri: `${base}/sign-in/callback`, port: Number(port) });

/** Returns a browser that was redirected to the provider. */
async function sentThere(place = "/account") {
  const web = createWeb(base);
  const page = await web.get(`/sign-in?return_to=${encodeURIComponent(place)}`);
  const { leavesFor } = await web.submit(page.form("/sign-in/provider"));
  return { web, page, leavesFor: leavesFor ?? new URL("missing:") };
}

describe("signing in with an external provider", () => {
  it("starts from a button with the provider's name, and returns to the requested page", async () => {
    const provider = await startProvider();
    const { web, page, leavesFor } = await sentThere("/claim?agent=agt_x");
    expect(page.html).toContain(`Sign in with ${host}</button>`);
    expect(leavesFor.origin).toBe(provider.issuer);
    const before = web.cookie();
    const back = await web.get(await provider.visit(leavesFor));
    expect(back.url.href).toBe(`${base}/claim?agent=agt_x`);
    expect(web.cookie()).not.toBe(before);
    const account = await web.get("/account");
    expect(textOf(account.html)).toContain("Signed in as ada@people.example");
  });

  it("takes its sign-in time from the provider's auth_time, however late the browser returns", async () => {
    const OIDC_ISSUER = `http://127.0.0.1:${await freePort()}`;
    const own = await startTestService({ ...client, OIDC_ISSUER });
    const redirectUri = `${own.base}/sign-in/callback`;
    const port = Number(new URL(OIDC_ISSUER).port);
    const provider = await startOpenIdProvider({ redirectUri, port });
    own.clock.now = new Date();
    const web = createWeb(own.base);
    const page = await web.get("/sign-in?return_to=/claim");
    const { leavesFor } = await web.submit(page.form("/sign-in/provider"));
    const back = await provider.visit(leavesFor ?? new URL("missing:"));
    // Only the service's clock advances, since the provider's code is valid for only a minute.
    own.clock.now = new Date(Date.now() + 5 * 60_000 + 1_000);
    expect((await web.get(back)).url.href).toBe(`${own.base}/sign-in?return_to=%2Fclaim`);
    expect((await web.get("/account")).url.pathname).toBe("/account");
  });

  it("starts from an intermediate page, since form-action allows no other site", async () => {
    await startProvider();
    const web = createWeb(base);
    const page = await web.get("/sign-in");
    expect(page.headers.get("content-security-policy")).toContain("form-action 'self';");
    const { action, fields } = page.form("/sign-in/provider");
    const answer = await fetch(action, {
      method: "POST",
      headers: { cookie: web.cookie(), origin: base, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams(fields as [string, string][]),
      redirect: "manual",
    });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain(`content="0; url=http://${host}/auth?`);
  });

  it("stays open when the network has used up its codes by mail, and is limited as a request for authorization", {
    tags: ["full"],
  }, async () => {
    await startProvider();
    const settings = { ...client, OIDC_ISSUER: `http://${host}` };
    const statusWith = async (RATE_LIMITS: string) => {
      const own = await startTestService({ ...settings, RATE_LIMITS });
      own.clock.now = new Date();
      const web = createWeb(own.base);
      const page = await web.get("/sign-in");
      return (await web.submit(page.form("/sign-in/provider"))).status;
    };
    expect(await statusWith("code-mails=0/0/0")).toBe(303);
    expect(await statusWith("authorizations=0/0/0")).toBe(429);
  });

  it.each(["?", "?code=x&state=y", "?error=access_denied", "?code=x&code=y"])(
    "answers an unsolicited callback with an error page: %s",
    async (query) => {
      const page = await createWeb(base).get(`/sign-in/callback${query}`);
      expect(page.status).toBe(400);
      expect(textOf(page.html)).toContain("You are not signed in");
    },
  );

  it("is rejected when the person declines, or when a callback is used twice", async () => {
    const provider = await startProvider();
    const { web, leavesFor } = await sentThere();
    provider.person = undefined;
    const declined = await provider.visit(leavesFor);
    for (let time = 0; time < 2; time += 1) {
      expect((await web.get(declined)).status).toBe(400);
      expect((await web.get("/account")).url.pathname).toBe("/sign-in");
    }
  });

  it("has no effect on a browser that did not start it", async () => {
    const provider = await startProvider();
    const { leavesFor } = await sentThere();
    const answer = await provider.visit(leavesFor);
    const victim = testService.person();
    await victim.signIn();
    expect((await victim.web.get(answer)).status).toBe(400);
    const account = await victim.web.get("/account");
    expect(textOf(account.html)).toContain(`Signed in as ${victim.email}`);
  });

  it("shows a page that advises retrying when the provider does not answer", async () => {
    const OIDC_ISSUER = `http://127.0.0.1:${await freePort()}`;
    const web = createWeb((await startTestService({ ...client, OIDC_ISSUER })).base);
    const page = await web.get("/sign-in");
    const answer = await web.submit(page.form("/sign-in/provider"));
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      503,
      "text/html; charset=utf-8",
    ]);
    expect(textOf(answer.html)).toContain("Temporarily unavailable");
  });
});
