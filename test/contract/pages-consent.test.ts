import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { clients } from "../../src/principals/agents/agent.ts";
import { storeUnavailableProblem } from "../../src/store/port/unavailable.ts";
import { register } from "../support/agent.ts";
import { authorizationRequest, type Person, registerPublic } from "../support/person.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { formTokenOf, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

/** oidc-provider dates authorization requests by the system clock, so the test clock follows it. */
beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const request = (client_id: string, parameters: Record<string, string> = {}) =>
  authorizationRequest(base, { client_id, resource: base, ...parameters }).url;

/** Returns a signed-in person with an open consent page. */
async function atConsent(
  changes: object = {},
  parameters: Record<string, string> = {},
): Promise<{ readonly person: Person; readonly page: WebPage; readonly clientId: string }> {
  const person = testService.person();
  await person.signIn();
  const { client_id: clientId } = await registerPublic(base, changes);
  const page = await person.web.get(request(clientId, parameters));
  return { person, page, clientId };
}

/** Opens a consent page of an already approved application that prompts every time. */
async function atConsentAgain() {
  const { person, clientId } = await atConsent();
  await person.authorize(request(clientId));
  return { person, clientId, page: await person.web.get(request(clientId)) };
}

/** Makes the store fail on every client lookup until the end of the test. */
function failAtClients(failure: Error): void {
  const { records } = testService.service.state.store;
  const { get } = records;
  const failing = vi.spyOn(records, "get").mockImplementation((from, key) => {
    if (from.name === clients.name) return Promise.reject(failure);
    return get.call(records, from, key) as never;
  });
  onTestFinished(() => failing.mockRestore());
}

describe("an authorization request during an internal failure", () => {
  it.each([
    ["an internal error", new Error("broken"), 500, "Something went wrong here"],
    ["an unavailable store", storeUnavailableProblem("down"), 503, "Temporarily unavailable"],
  ])("shows an error page: %s", async (_what, failure, status, heading) => {
    const { client_id } = await registerPublic(base);
    const person = testService.person();
    await person.signIn();
    const before = testService.logged.length;
    failAtClients(failure);
    const response = await fetch(request(client_id), {
      headers: { accept: "text/html", cookie: person.web.cookie(base) },
      redirect: "manual",
    });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "text/html; charset=utf-8",
    ]);
    const said = await response.text();
    expect(said).toContain(heading);
    expect(said).not.toContain("broken");
    if (status === 503) expect(response.headers.get("retry-after")).toMatch(/^\d+$/);
    if (status === 500) expect(testService.logged.length).toBe(before + 1);
    const program = await fetch(request(client_id), { redirect: "manual" });
    expect([program.status, await program.json()]).toEqual([
      status,
      expect.objectContaining({
        error: status === 500 ? "server_error" : "temporarily_unavailable",
      }),
    ]);
  });
});

const formIn = (page: WebPage) => page.form(page.url.pathname);
const policyOf = ({ headers }: WebPage) => headers.get("content-security-policy");

describe("the consent page", () => {
  it("shows the client, its unverified name, the redirect host and the signed-in account", async () => {
    const redirect_uris = ["https://desk.example/callback"];
    const changes = { client_name: "Desk", redirect_uris, application_type: "web" };
    const parameters = { redirect_uri: "https://desk.example/callback" };
    const { person, page, clientId } = await atConsent(changes, parameters);
    const said = textOf(page.html);
    expect(said).toContain(`You are signed in as ${person.email}.`);
    expect(said).toContain("Application calls itself “Desk” not verified");
    expect(said).toContain(`Its id ${clientId}`);
    expect(said).toContain("You are sent back to desk.example");
    expect(said).toContain("Anybody can register an application under any name");
    expect(policyOf(page)).toContain("form-action 'self';");
  });

  it("states when an application runs on the person's own computer", async () => {
    const { page } = await atConsent();
    expect(textOf(page.html)).toContain("a program on this computer, at 127.0.0.1");
  });

  it("shows the URI scheme of a native app, and redirects to it", async () => {
    const redirect_uri = "cursor://anysphere.cursor-mcp/oauth/callback";
    const { person, page, clientId } = await atConsent(
      { redirect_uris: [redirect_uri] },
      { redirect_uri },
    );
    expect(textOf(page.html)).toContain(
      "You are sent back to a program on your device, as cursor:",
    );
    const leavesFor = await person.authorize(request(clientId, { redirect_uri }));
    expect(leavesFor.href).toContain(`${redirect_uri}?code=`);
  });

  it("states whether an application learns the person's identity, and whether it gets offline access", async () => {
    const identity = "It learns who you are";
    const lasting =
      "What you allow lasts until you end it or it runs out, also while you are away.";
    const redirect_uri = "https://desk.example/callback";
    const web = { redirect_uris: [redirect_uri], application_type: "web" };
    const once = { ...web, grant_types: ["authorization_code"] };
    const all = "openid offline_access signals:read";
    const cases = [
      [once, { scope: "signals:read" }, []],
      [once, { scope: "openid signals:read" }, [identity]],
      [web, { scope: "signals:read" }, [lasting]],
      [web, { scope: all, prompt: "consent" }, [identity, lasting]],
    ] as const;
    for (const [changes, parameters, told] of cases) {
      const { page } = await atConsent(changes, { redirect_uri, ...parameters });
      const said = textOf(page.html);
      expect([identity, lasting].filter((text) => said.includes(text))).toEqual(told);
    }
  });

  it("lists the implied permissions in the same words as the account page", async () => {
    const scope = "openid offline_access signals:read";
    const { person, page } = await atConsent({}, { scope, prompt: "consent" });
    const named = ({ html }: WebPage) =>
      [...html.matchAll(/<code>(openid|offline_access)<\/code>/g)].map(([, name]) => name);
    expect(named(page)).toEqual(["openid", "offline_access"]);
    await person.web.submit(formIn(page), { decision: "allow" });
    expect(named(await person.web.get("/account")).toSorted()).toEqual(named(page).toSorted());
  });

  it("offers each scope with its meaning, all selected, and grants neither deselected nor other scopes", async () => {
    const { person, page } = await atConsent(
      {},
      { scope: "signals:read factor:read alerts:write" },
    );
    const form = formIn(page);
    expect(form.fields.filter(([name]) => name === "scope").map(([, scope]) => scope)).toEqual([
      "signals:read",
      "factor:read",
      "alerts:write",
    ]);
    expect(textOf(page.html)).toContain("Register alert webhook endpoints alerts:write");
    const { leavesFor } = await person.web.submit(form, {
      decision: "allow",
      scope: ["factor:read", "darkpool:read"],
    });
    expect(leavesFor?.searchParams.get("code")).toBeTruthy();
    const account = await person.web.get("/account");
    expect(textOf(account.html)).toContain("Access factor:read Allowed");
  });

  it("after a denial, returns to the application at a redirect URI that the person approved earlier", async () => {
    const { person, page } = await atConsentAgain();
    const { leavesFor } = await person.web.submit(formIn(page), { decision: "deny" });
    expect(leavesFor?.searchParams.get("error")).toBe("access_denied");
    expect(leavesFor?.searchParams.get("code")).toBeNull();
  });

  it("after a denial, offers only a link to a redirect URI that the person never approved", async () => {
    const redirect_uri = "https://evil.example:8443/callback";
    const changes = { redirect_uris: [redirect_uri], application_type: "web" };
    const { person, page } = await atConsent(changes, { redirect_uri });
    expect(textOf(page.html)).toContain("You are sent back to evil.example:8443");
    const refused = await person.web.submit(formIn(page), { decision: "deny" });
    expect([refused.status, refused.leavesFor]).toEqual([200, undefined]);
    expect(refused.html).not.toContain("http-equiv");
    expect(textOf(refused.html)).toContain("Tell it, which takes you to evil.example:8443");
    const [, onward = ""] = /<a href="([^"]+)">Tell it</.exec(refused.html) ?? [];
    const { leavesFor } = await person.web.get(onward);
    expect(leavesFor?.host).toBe("evil.example:8443");
    expect(leavesFor?.searchParams.get("error")).toBe("access_denied");
  });

  it.each([undefined, "", "maybe", ["allow", "deny"]])(
    "rejects the decision %j",
    async (decision) => {
      const { person, page } = await atConsent();
      const again = await person.web.submit(formIn(page), { decision });
      expect([again.status, again.leavesFor]).toEqual([400, undefined]);
    },
  );

  it("is shown again with nothing selected when the person selected nothing", async () => {
    const { person, page } = await atConsent();
    const again = await person.web.submit(formIn(page), { decision: "allow", scope: [] });
    expect(again.status).toBe(400);
    expect(textOf(again.html)).toContain("Select at least one permission, or refuse.");
    expect(formIn(again).fields.some(([name]) => name === "scope")).toBe(false);
  });

  it("is also shown when an application requests only the openid scope a second time", async () => {
    const scope = "openid";
    const { person, page } = await atConsent({ scope }, { scope });
    expect(textOf(page.html)).toContain("It requests no access, only your identity.");
    const undecided = await person.web.submit(formIn(page), { decision: "" });
    expect([undecided.status, undecided.leavesFor]).toEqual([400, undefined]);
    const { leavesFor } = await person.web.submit(formIn(page), { decision: "allow" });
    expect(leavesFor?.searchParams.get("code")).toBeTruthy();
  });

  it("requires a signed-in person", async () => {
    const { person, page } = await atConsent();
    const account = await person.web.get("/account");
    const out = await person.web.submit(account.form("/sign-out"));
    const filled = { form_token: formTokenOf(out), decision: "allow" };
    const refused = await person.web.submit(formIn(page), filled);
    expect(refused.url.pathname).toBe("/sign-in");
    expect(refused.url.searchParams.get("return_to")).toBe(page.url.pathname);
  });
});

describe("a consent decision", () => {
  it.each([
    ["allow", { "sec-fetch-site": "same-origin" }],
    ["deny", { "sec-fetch-site": "same-origin" }],
    ["allow", { accept: "text/html,application/xhtml+xml" }],
  ])(
    "to %s continues through an intermediate page, since form-action restricts redirects: %j",
    async (decision, saysOfItself) => {
      const { person, page } = await atConsentAgain();
      const { action, fields } = formIn(page);
      const body = new URLSearchParams([...fields, ["decision", decision]] as [string, string][]);
      const cookie = person.web.cookie(action);
      const headers = { cookie, origin: base, ...saysOfItself } as Record<string, string>;
      const answer = await fetch(action, { method: "POST", headers, body, redirect: "manual" });
      expect([answer.status, answer.headers.get("location")]).toEqual([200, null]);
      expect(answer.headers.get("content-security-policy")).toContain("form-action 'self';");
      const [, onward = ""] = /http-equiv="refresh" content="0; url=([^"]+)"/.exec(
        await answer.text(),
      ) as RegExpExecArray;
      expect(onward).toMatch(new RegExp(`^${base}/oauth/authorize/[\\w-]+$`));
      const { leavesFor } = await person.web.get(onward);
      expect(leavesFor?.searchParams.has(decision === "allow" ? "code" : "error")).toBe(true);
    },
  );

  it("is valid only while the sign-in is recent", async () => {
    testService.clock.now = new Date();
    const scope = "openid signals:read";
    const { person, page } = await atConsent({}, { scope, max_age: "30" });
    testService.clock.now = new Date(Date.now() - 60_000);
    await person.signIn();
    const formToken = formTokenOf(await person.web.get("/account"));
    const filled = { form_token: formToken, decision: "allow" };
    const refused = await person.web.submit(formIn(page), filled);
    expect(refused.url.pathname).toBe("/sign-in");
    const account = await person.web.get("/account");
    expect(textOf(account.html)).toContain("Applications that act for you appear here");
  });
});

describe("an authorization request", () => {
  it("redirects an anonymous visitor to the sign-in, and then continues", async () => {
    const person = testService.person();
    const { client_id } = await registerPublic(base);
    const page = await person.web.get(request(client_id));
    expect(page.url.pathname).toBe("/sign-in");
    expect(page.url.searchParams.get("return_to")).toMatch(/^\/oauth\/interaction\/[\w-]+$/);
    expect(textOf(page.html)).toContain("An application wants to act for you.");
    const leavesFor = await person.authorize(request(client_id));
    expect(leavesFor.searchParams.get("code")).toBeTruthy();
  });

  it("that is rejected shows an error page and redirects nowhere", async () => {
    const { client_id } = await registerPublic(base);
    const headers = { accept: "text/html" };
    const wrong: readonly Record<string, string>[] = [
      { client_id: "unknown" },
      { redirect_uri: "https://evil.example/callback" },
      { scope: "<script>alert(1)</script>" },
    ];
    for (const parameters of wrong) {
      const answer = await fetch(request(client_id, parameters), { redirect: "manual", headers });
      const page = await answer.text();
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
      expect(answer.headers.get("content-type")).toContain("text/html");
      expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(textOf(page)).toContain("Go back to the application and start again from there.");
      expect(page).toContain('<a class="main" href="/">');
      expect(page).not.toMatch(/<script>|href="https:\/\/evil/);
    }
  });

  it("over the rate limit shows a page with the time to retry", async () => {
    const strict = await startTestService({ RATE_LIMITS: "authorizations=1/100000/1000000" });
    const { client_id } = await registerPublic(strict.base);
    const ask = (accept: string) => {
      const { url } = authorizationRequest(strict.base, { client_id, resource: strict.base });
      return fetch(url, { redirect: "manual", headers: { accept } });
    };
    expect((await ask("text/html")).status).toBe(303);
    const page = await ask("text/html");
    expect([page.status, Number(page.headers.get("retry-after")) > 0]).toEqual([429, true]);
    expect(textOf(await page.text())).toContain("Try again after");
    expect(await (await ask("*/*")).json()).toMatchObject({ error: "temporarily_unavailable" });
  });

  it("that is unknown, expired or from another browser shows a page that advises starting again", async () => {
    const { person, page } = await atConsent();
    const stranger = testService.person();
    await stranger.signIn();
    const form = formIn(page);
    await person.web.submit(form, { decision: "deny" });
    const formToken = formTokenOf(await person.web.get("/account"));
    const answers = [
      await person.web.get("/oauth/interaction/unknown"),
      await stranger.web.get(page.url),
      await person.web.submit(form, { form_token: formToken, decision: "allow" }),
    ];
    for (const { status, html, leavesFor } of answers) {
      expect([status, leavesFor]).toEqual([400, undefined]);
      expect(textOf(html)).toContain("Go back to the application and start again from there.");
    }
  });

  it("that follows a form continues through an intermediate page, which form-action does not restrict", async () => {
    const person = testService.person();
    testService.clock.now = new Date(Date.now() - 60_000);
    await person.signIn();
    const { client_id } = await register(base, {
      redirect_uris: ["https://desk.example/callback"],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "web",
    });
    const to = { redirect_uri: "https://desk.example/callback", scope: "signals:read" };
    await person.authorize(request(client_id, to));
    testService.clock.now = new Date();
    const page = await person.web.get(request(client_id, { ...to, prompt: "login" }));
    const place = page.url.searchParams.get("return_to") ?? "";
    // The sign-in must be later than the request, which oidc-provider dates by the wall clock.
    testService.clock.now = new Date();
    await person.signIn();

    const headers = { cookie: person.web.cookie(place), "sec-fetch-site": "same-origin" };
    const between = await fetch(base + place, { headers, redirect: "manual" });
    expect(between.status).toBe(200);
    const onward = place.replace("interaction", "authorize");
    expect(await between.text()).toContain(`content="0; url=${base}${onward}"`);
    const { leavesFor } = await person.web.get(onward);
    expect(leavesFor?.origin).toBe("https://desk.example");
    expect(leavesFor?.searchParams.get("code")).toBeTruthy();
  });
});
