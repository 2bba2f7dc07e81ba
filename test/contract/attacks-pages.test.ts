// @module-tag full

import { beforeEach, describe, expect, it } from "vitest";
import { channels } from "../../src/alerts/channels/channel.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { currentRequestId } from "../../src/lib/request-id.ts";
import { emailGroup } from "../../src/mail/email-address.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { insert } from "../../src/store/port/operations.ts";
import type { Records } from "../../src/store/port/records.ts";
import { getWith, postForm, postJson, register, tokenOf } from "../support/agent.ts";
import { channelAlert } from "../support/channels.ts";
import { authorizationRequest, CALLBACK, type Person, registerPublic } from "../support/person.ts";
import { storeName } from "../support/stored-name.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { createWeb, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;
const EVIL = "https://evil.example";

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const pathOf = (action: string) => new URL(action).pathname;

/** Registers an agent, whose answer includes a claim code. */
const newAgent = (changes: object = {}) =>
  register(base, changes) as Promise<
    Awaited<ReturnType<typeof register>> & { readonly claim: { readonly code: string } }
  >;

/** Creates a person with one of everything that the account page can remove. */
async function settled(): Promise<Person> {
  const person = testService.person();
  const agent = await newAgent();
  await person.claim(agent.client_id, agent.claim.code);
  await person.createKey(["signals:read"]);
  const { access_token } = await person.tokens();
  const headers = { authorization: `Bearer ${access_token}` };
  const alert = await postJson(`${base}/api/alerts`, { assetClass: "stock" }, headers);
  expect(alert.status).toBe(201);
  const body = { watchlist: "Chips", symbols: ["ALDER.SIM"] };
  expect((await postJson(`${base}/api/watchlists`, body, headers)).status).toBe(200);
  const form = (await person.web.get("/account/alerts/new")).form("/account/alerts");
  const made = await person.web.submit(form, { symbols: "ALDER.SIM", kinds: "signal_shift" });
  expect(made.url.pathname).toMatch(/^\/account\/alerts\/alert_/);
  await addChannels(person);
  return person;
}

/** Gives a person one channel in each state that has its own forms. */
async function addChannels({ email }: Person): Promise<void> {
  const { store, keyring } = testService.service.state;
  const { records } = store;
  const vault = createKeyringVault(keyring);
  const [account] = await records.list(accounts, { group: emailGroup(email), limit: 1 });
  if (account === undefined) throw new Error("the person has no account");
  const pending = { code: null, codeUntil: 0, triesLeft: 0 };
  for (const is of ["active", "paused", "pending"] as const) {
    const state = is === "pending" ? { is, since: 0, ...pending } : { is, since: 0 };
    const of = { target: { kind: "email", to: email }, vault, accountId: account.key } as const;
    const { channel } = channelAlert({ ...of, name: is, state });
    const value = { ...channel.value, isShared: is === "active" };
    await records.commit([insert(channels, { ...channel, value })]);
  }
}

/** Collects every form of every page, filled with valid values. */
async function everyForm(person: Person) {
  const { web } = person;
  const [agent, other] = [await newAgent(), await newAgent()];
  const started = await postJson(
    `${base}/oauth/claim/start`,
    { agent_id: other.client_id },
    { authorization: `Bearer ${await tokenOf(base, other)}` },
  );
  const { verification_uri } = (await started.json()) as { verification_uri: string };
  const { client_id } = await registerPublic(base);
  const claim = await web.get(`/claim?agent=${agent.client_id}`);
  const given = { agent_id: agent.client_id, code: agent.claim.code };
  const signIn = await web.get("/sign-in");
  const account = await web.get("/account");
  const [, alert = ""] = /href="(\/account\/alerts\/alert_\w+)"/.exec(account.html) ?? [];
  const pages: readonly WebPage[] = [
    account,
    await web.get("/account/alerts/new"),
    await web.get("/account/watchlists/new"),
    await web.get(alert),
    await web.get(`${alert}/edit`),
    claim,
    await web.submit(claim.form("/claim"), given),
    await web.get(verification_uri),
    await web.get(authorizationRequest(base, { client_id }).url),
    await web.get("/contact"),
    await web.get("/apply"),
    signIn,
    await web.submit(signIn.form("/sign-in"), { email: person.email }),
  ];
  const forms = pages.flatMap((page) => page.forms);
  return [...new Map(forms.map((form) => [pathOf(form.action), form])).values()];
}

describe("a form on another site", () => {
  it("changes nothing, whatever fields it sends and whichever site sends it", async () => {
    const person = await settled();
    const forms = await everyForm(person);
    const posts = testService.service.routes.filter(({ method, path }) => {
      const isPage = /^\/(sign-|claim|account|contact|apply|oauth\/interaction)/.test(path);
      return method === "POST" && isPage;
    });
    const found = new Set(forms.map(({ action }) => pathOf(action).replace(/[^/]{20,}/, ":id")));
    expect([...found].sort()).toEqual(posts.map(({ path }) => path.replace(/:\w+/, ":id")).sort());
    const before = textOf((await person.web.get("/account")).html);

    const stranger = createWeb(base);
    const [foreign] = (await stranger.get("/sign-in")).form("/sign-in").fields;
    for (const { action, fields } of forms) {
      const token = fields.find(([name]) => name === "form_token")?.[1] ?? "";
      expect(token, action).not.toBe("");
      const send = (formToken: string | undefined, headers: Record<string, string>) => {
        const others = fields.filter(([name]) => name !== "form_token");
        const body = new URLSearchParams(others as [string, string][]);
        if (formToken !== undefined) body.set("form_token", formToken);
        const cookie = person.web.cookie(action);
        return fetch(action, {
          method: "POST",
          headers: { cookie, ...headers },
          body,
          redirect: "manual",
        });
      };
      const attacks = [
        ["no token", send(undefined, { origin: base })],
        ["an empty token", send("", { origin: base })],
        ["a token of another browser", send(foreign?.[1], { origin: base })],
        ["a changed token", send(`${token.slice(0, -1)}_`, { origin: base })],
        ["another origin", send(token, { origin: EVIL })],
        ["a hidden origin", send(token, { origin: "null" })],
        ["a near origin", send(token, { origin: `${base}.evil.example` })],
        ["another site", send(token, { origin: base, "sec-fetch-site": "cross-site" })],
        ["a neighbor", send(token, { "sec-fetch-site": "same-site" })],
      ] as const;
      for (const [what, answer] of attacks) {
        expect((await answer).status, `${what} at ${action}`).toBe(403);
      }
      const asJson = await fetch(action, {
        method: "POST",
        headers: { cookie: person.web.cookie(action), "content-type": "text/plain" },
        body: `form_token=${token}`,
        redirect: "manual",
      });
      expect(asJson.status, action).toBe(415);
    }
    expect(textOf((await person.web.get("/account")).html)).toBe(before);
  });

  it("changes nothing when its fields are sent by GET", async () => {
    const person = await settled();
    const forms = await everyForm(person);
    for (const { action, fields } of forms) {
      const link = `${action}?${new URLSearchParams(fields as [string, string][])}`;
      const answer = await fetch(link, {
        headers: { cookie: person.web.cookie(action) },
        redirect: "manual",
      });
      expect([200, 303, 400, 404, 405], action).toContain(answer.status);
    }
    const { html } = await person.web.get("/account");
    expect(html).toMatch(/\/account\/keys\/[^/]+\/revoke/);
    expect(html).toMatch(/\/account\/agents\/[^/]+\/remove/);
  });
});

describe("a person", () => {
  it("cannot remove what belongs to another person", async () => {
    const [mine, other] = [await settled(), await settled()];
    const own = await mine.web.get("/account");
    const theirs = (await other.web.get("/account")).forms.filter(({ action }) =>
      /\/(revoke|remove)$/.test(action),
    );
    expect(theirs.length).toBeGreaterThanOrEqual(3);
    const [formToken] = own.forms.flatMap(({ fields }) =>
      fields.filter(([name]) => name === "form_token").map(([, value]) => value),
    );
    for (const form of theirs) {
      const answer = await mine.web.submit(form, { form_token: formToken });
      expect(answer.status, form.action).toBeLessThan(500);
    }
    const kept = (await other.web.get("/account")).forms.map(({ action }) => action);
    expect(kept).toEqual(expect.arrayContaining(theirs.map(({ action }) => action)));
  });

  it("cannot create a sixth API key, nor one with a scope that does not exist", async () => {
    const person = testService.person();
    for (let count = 0; count < 5; count++) await person.createKey(["signals:read"]);
    await expect(person.createKey(["signals:read"])).rejects.toThrow();
    const account = await person.web.get("/account");
    const wide = await testService.person();
    await wide.signIn();
    const form = (await wide.web.get("/account")).form("/account/keys");
    const { html } = await wide.web.submit(form, { name: "x", scope: ["everything:write"] });
    expect(html).not.toMatch(/msv_test_\w{38}/);
    expect(account.html).not.toMatch(/msv_test_\w{38}/);
  });

  it("cannot see the consent page of another person's authorization request", async () => {
    const { client_id } = await registerPublic(base);
    const attacker = testService.person();
    const started = await fetch(authorizationRequest(base, { client_id }).url, {
      redirect: "manual",
    });
    const interaction = new URL(started.headers.get("location") ?? "", base);
    await attacker.signIn();
    const page = await attacker.web.get(interaction);
    expect(page.status).toBeGreaterThanOrEqual(400);
    expect(page.forms.map(({ action }) => pathOf(action))).not.toContain(interaction.pathname);
  });

  it("cannot grant an application a scope that it did not request", async () => {
    const { client_id } = await registerPublic(base);
    const { url, verifier } = authorizationRequest(base, { client_id, scope: "signals:read" });
    const callback = await testService.person().authorize(url, {
      scopes: ["signals:read", "alerts:write", "openid", "offline_access"],
    });
    const answer = await postForm(`${base}/oauth/token`, {
      grant_type: "authorization_code",
      client_id,
      code: callback.searchParams.get("code") ?? "",
      redirect_uri: CALLBACK,
      code_verifier: verifier,
    });
    const body = (await answer.json()) as { scope?: string };
    expect(body.scope ?? "signals:read").toBe("signals:read");
  });

  it("who selects nothing grants nothing and is prompted again", async () => {
    const { client_id } = await registerPublic(base);
    const { url } = authorizationRequest(base, { client_id });
    const person = testService.person();
    await person.signIn();
    const consent = await person.web.get(url);
    const form = consent.form(consent.url.pathname);
    const again = await person.web.submit(form, { decision: "allow", scope: [] });
    expect([again.status, again.leavesFor]).toEqual([400, undefined]);
  });

  it("who signs out must sign in for the next request", async () => {
    const { client_id } = await registerPublic(base);
    const request = () => authorizationRequest(base, { client_id }).url;
    const person = testService.person();
    await person.authorize(request());
    await person.web.submit((await person.web.get("/account")).form("/sign-out"));
    const next = await person.web.get(request());
    expect(next.leavesFor).toBeUndefined();
    expect(next.url.pathname).toBe("/sign-in");
    const silent = request();
    silent.searchParams.set("prompt", "none");
    const { leavesFor } = await person.web.get(silent);
    expect(leavesFor?.searchParams.get("error")).toBe("login_required");
  });

  it("cannot consent to a request that the previous user of the browser started", async () => {
    const redirect_uri = "https://desk.example/callback";
    const changes = { redirect_uris: [redirect_uri], application_type: "web" };
    const { client_id } = await registerPublic(base, changes);
    const { url } = authorizationRequest(base, { client_id, resource: base, redirect_uri });
    const [first, second] = [testService.person(), testService.person()];
    const { web } = first;
    await first.signIn();
    const open = await web.get(url);
    await web.signIn(
      second.email,
      async (email) => (await testService.codesTo(email)).at(-1) ?? "",
    );
    const [, formToken] = (await web.get("/account")).form("/sign-out").fields[0] ?? [];
    const form = open.form(open.url.pathname);
    const answers = [
      await web.get(open.url),
      await web.submit(form, { form_token: formToken, decision: "allow" }),
      await web.submit(form, { form_token: formToken, decision: "deny" }),
    ];
    for (const { status, html, leavesFor } of answers) {
      expect([status, leavesFor]).toEqual([400, undefined]);
      expect(textOf(html)).toContain("Go back to the application and start again from there.");
    }
    const allowed = async (at: Person) => {
      const page = await at.web.get("/account");
      return page.html.includes(client_id);
    };
    const elsewhere = testService.person(first.email);
    await elsewhere.signIn();
    expect([await allowed(elsewhere), await allowed(first)]).toEqual([false, false]);

    const again = await web.get(url);
    expect(textOf(again.html)).toContain(`You are signed in as ${second.email}.`);
    const { leavesFor } = await web.submit(again.form(again.url.pathname), { decision: "allow" });
    expect(leavesFor?.searchParams.has("code")).toBe(true);
    expect([await allowed(elsewhere), await allowed(first)]).toEqual([false, true]);
  });
});

describe("every page", () => {
  it("forbids frames, content sniffing, caching and scripts", async () => {
    const person = await settled();
    const agent = await newAgent();
    const { client_id } = await registerPublic(base);
    const cookie = () => person.web.cookie();
    const pages = [
      "/sign-in",
      "/sign-in/code",
      "/account",
      `/claim?agent=${agent.client_id}`,
      "/claim?attempt=x",
      "/oauth/interaction/x",
    ];
    const answers = [
      ...(await Promise.all(
        pages.map((path) => fetch(base + path, { headers: { cookie: cookie() } })),
      )),
      await fetch(`${base}/sign-in`, { method: "POST", body: new URLSearchParams() }),
    ];
    const consent = await person.web.get(authorizationRequest(base, { client_id }).url);
    const all = [...answers.map(({ headers }) => headers), consent.headers];
    for (const headers of all) {
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("base-uri 'none'");
      expect(policy).not.toMatch(/unsafe|script-src|\*/);
      expect(headers.get("content-type")).toMatch(/^text\/html; charset=utf-8/i);
      expect(headers.get("x-frame-options")).toBe("DENY");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("referrer-policy")).toMatch(/^(no-referrer|same-origin)$/);
    }
  });
});

describe("a cookie", () => {
  const cookiesOf = async (own: string, url: string | URL) =>
    (await fetch(url, { redirect: "manual" })).headers.getSetCookie().map((line) => [own, line]);

  it("is HttpOnly, SameSite and bound to this host", async () => {
    const { client_id } = await registerPublic(base);
    const lines = [
      ...(await cookiesOf(base, `${base}/sign-in`)),
      ...(await cookiesOf(base, authorizationRequest(base, { client_id }).url)),
    ].map(([, line]) => String(line).toLowerCase());
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const line of lines) {
      expect(line).toContain("httponly");
      expect(line).toMatch(/samesite=(lax|strict)/);
      expect(line).toContain("path=/");
      expect(line).not.toContain("domain=");
    }
  });

  it("is Secure over HTTPS, and has the __Host- prefix if a page sets it", async () => {
    const { base: local } = await startTestService({ BASE_URL: "https://signals.example" });
    const { client_id } = await registerPublic(local);
    const { search } = authorizationRequest(local, { client_id }).url;
    const page = await cookiesOf(local, `${local}/sign-in`);
    const flow = await cookiesOf(local, `${local}/oauth/authorize${search}`);
    const lines = [...page, ...flow].map(([, line]) => String(line));
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const line of lines) expect(line).toMatch(/;\s*secure/i);
    for (const [, line] of page) {
      expect(line).toMatch(/^__Host-/);
      expect(line).toMatch(/path=\/(;|$)/i);
    }
  });

  it("that was planted before a sign-in gives no access after the sign-in", async () => {
    const person = testService.person();
    await person.web.get("/sign-in");
    const planted = person.web.cookie();
    expect(planted).not.toBe("");
    await person.signIn();
    expect(person.web.cookie()).not.toBe(planted);
    const attacker = await fetch(`${base}/account`, {
      headers: { cookie: planted },
      redirect: "manual",
    });
    expect(attacker.status).toBe(303);
  });

  it("with a value that the service did not issue never becomes a session", async () => {
    const name = (await createWeb(base).get("/sign-in")).headers.getSetCookie()[0]?.split("=")[0];
    for (const value of ["x", "A".repeat(43), "", "%00", "../../x", "__proto__"]) {
      const answer = await fetch(`${base}/account`, {
        headers: { cookie: `${name}=${value}` },
        redirect: "manual",
      });
      expect(answer.status, value).toBe(303);
    }
  });

  it("is invalid after signing out, even if it was copied", async () => {
    const person = testService.person();
    await person.signIn();
    const copy = person.web.cookie();
    await person.web.submit((await person.web.get("/account")).form("/sign-out"));
    const late = await fetch(`${base}/account`, { headers: { cookie: copy }, redirect: "manual" });
    expect(late.status).toBe(303);
  });

  it("authenticates pages only, not the API", async () => {
    const person = testService.person();
    await person.signIn();
    const headers = { cookie: person.web.cookie() };
    for (const path of ["/api/signals?limit=1", "/api/factors?symbol=ALDER.SIM"]) {
      expect((await fetch(base + path, { headers })).status).toBe(401);
    }
    expect((await postJson(`${base}/mcp`, {}, headers)).status).toBe(401);
    expect((await postJson(`${base}/oauth/claim`, {}, headers)).status).toBe(401);
  });
});

describe("a sign-in code", () => {
  async function asked() {
    const person = testService.person();
    const start = await person.web.get("/sign-in");
    const page = await person.web.submit(start.form("/sign-in"), { email: person.email });
    const code = (await testService.codesTo(person.email)).at(-1) ?? "";
    const type = (typed: string) => person.web.submit(page.form("/sign-in/code"), { code: typed });
    return { person, code, type };
  }
  const wrong = (code: string) => String((Number(code) + 1) % 10 ** 8).padStart(8, "0");

  it("is invalid in another browser", async () => {
    const { person, code } = await asked();
    const attacker = createWeb(base);
    const start = await attacker.get("/sign-in");
    const page = await attacker.submit(start.form("/sign-in"), { email: person.email });
    const answer = await attacker.submit(page.form("/sign-in/code"), { code });
    expect(answer.status).toBe(400);
    expect((await attacker.get("/account")).url.pathname).toBe("/sign-in");
  });

  it("becomes invalid after five wrong codes, even if they are sent concurrently", async () => {
    const { code, type } = await asked();
    const tries = await Promise.all(Array.from({ length: 10 }, () => type(wrong(code))));
    for (const { status } of tries) expect(status).toBe(400);
    expect((await type(code)).status).toBe(400);
  });

  it("can be used only once", async () => {
    const { code, type } = await asked();
    const answers = await Promise.all(Array.from({ length: 20 }, () => type(code)));
    const inside = answers.filter(({ url }) => url.pathname === "/account");
    expect(inside.length).toBeLessThanOrEqual(1);
    expect((await type(code)).url.pathname).not.toBe("/account");
  });

  it("expires after ten minutes", async () => {
    const { code, type } = await asked();
    testService.clock.now = new Date(SANDBOX_NOW.getTime() + 10 * 60_000 + 1_000);
    expect((await type(code)).status).toBe(400);
  });
});

describe("an email address", () => {
  const injections = [
    "eve@example.com\r\nBcc: all@example.com",
    "eve@example.com\nSubject: x",
    "eve@example.com%0d%0aBcc:all@example.com",
    "eve@example.com,victim@example.com",
    "eve@example.com;victim@example.com",
    "Eve <eve@example.com>",
    "<eve@example.com>",
    "eve@example.com victim@example.com",
    "eve@example.com\u2028Bcc: x",
    "eve@example.com\u0000",
    '"eve\r\nBcc: x"@example.com',
    "eve@[127.0.0.1]",
    "=?utf-8?q?eve?=@example.com",
    "eve@exa\u00ADmple.com",
    "eve@\u202Eexample.com",
    `${"e".repeat(300)}@example.com`,
  ];

  it.each(injections)("cannot inject a header or a second address: %j", async (email) => {
    const web = createWeb(base);
    const form = (await web.get("/sign-in")).form("/sign-in");
    const answer = await web.submit(form, { email });
    expect(answer.status).toBe(400);
    const applied = await postJson(`${base}/api/apply`, { name: "Eve", email });
    expect(applied.status).toBe(400);
    const sent = await postJson(`${base}/api/contact`, { email, message: "x" });
    expect(sent.status).toBe(400);
    expect(await testService.emailsTo("victim@example.com")).toEqual([]);
    expect(await testService.emailsTo("all@example.com")).toEqual([]);
  });
});

/** Attributes of a script tag that loads one of the service's own scripts. */
const OWN_SCRIPT = /^ defer src="\/assets\/[\w./-]+\.js(\?[\w=-]+)?"$/;

/**
 * Finds tags that run or load something or close their parent element, except the service's own
 * scripts.
 */
function dangerousTags(html: string): readonly string[] {
  return Array.from(html.matchAll(/<([!/?]?[a-z][^\s>/]*)((?:"[^"]*"|'[^']*'|[^"'>])*)>/gi))
    .filter(([, name = "", attributes = ""]) => {
      const outsideQuotes = attributes.replace(/"[^"]*"|'[^']*'/g, '""');
      const isActive = /^(script|img|svg|iframe|object|embed|base|math|video|audio)$/i.test(name);
      const runs = /\s(on\w+|style|srcdoc)\s*=/i.test(outsideQuotes);
      // The value of a field is text, which a refused form shows again.
      const leads = /\s(?!value=)[\w:-]+\s*=\s*["']?\s*(javascript|data|vbscript):/i.test(
        attributes,
      );
      const isOwn = name === "script" && OWN_SCRIPT.test(attributes);
      return (isActive && !isOwn) || runs || (leads && name !== "link");
    })
    .map(([tag]) => tag);
}

describe("untrusted text", () => {
  const names = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</title><script>alert(1)</script>",
    "<!--<img src=x onerror=alert(1)>-->",
    "&lt;script&gt;",
    "{{7*7}} <%= 7*7 %>",
    'x" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
  ];
  it.each(names)("is escaped on every page that shows it: %j", async (client_name) => {
    const person = testService.person();
    const agent = await newAgent();
    const { client_id } = await registerPublic(base);
    await storeName(testService, agent, client_name);
    await storeName(testService, { client_id }, client_name);
    const consent = await person.web.get(authorizationRequest(base, { client_id }).url);
    const signedIn =
      consent.url.pathname === "/sign-in"
        ? await person.web.signIn(
            person.email,
            async () => (await testService.codesTo(person.email)).at(-1) ?? "",
            consent,
          )
        : consent;
    await person.web.submit(signedIn.form(pathOf(signedIn.url.href)), { decision: "allow" });
    const named = await person.web.get(`/claim?agent=${agent.client_id}`);
    const shown = await person.web.submit(named.form("/claim"), {
      agent_id: agent.client_id,
      code: agent.claim.code,
    });
    const done = await person.web.submit(shown.form("/claim/confirm"));
    const other = await newAgent();
    await storeName(testService, other, client_name);
    const started = await postJson(
      `${base}/oauth/claim/start`,
      { agent_id: other.client_id },
      { authorization: `Bearer ${await tokenOf(base, other)}` },
    );
    const { verification_uri } = (await started.json()) as { verification_uri: string };
    const attempt = await person.web.get(verification_uri);
    const revealed = await person.web.submit(attempt.form("/claim/approve"));
    const form = (await person.web.get("/account")).form("/account/keys");
    const key = await person.web.submit(form, { name: client_name, scope: ["signals:read"] });
    const account = await person.web.get("/account");

    const showing = [signedIn, shown, attempt, account];
    for (const page of showing) expect(textOf(page.html), page.url.href).toContain(client_name);
    for (const page of [...showing, named, done, revealed, key]) {
      expect(dangerousTags(page.html), page.url.href).toEqual([]);
    }
  });

  it.each([
    "/sign-in?return_to=%22%3E%3Cscript%3Ealert(1)%3C/script%3E",
    "/sign-in/code?return_to=%3Cscript%3Ealert(1)%3C/script%3E",
    "/claim?agent=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    "/claim?attempt=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E",
    "/oauth/interaction/%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "/oauth/authorize?client_id=%3Cscript%3Ealert(1)%3C/script%3E",
    "/oauth/authorize?client_id=x&redirect_uri=%3Cscript%3Ealert(1)%3C/script%3E",
    "/account/%3Cscript%3Ealert(1)%3C/script%3E",
    "/%3Cscript%3Ealert(1)%3C/script%3E",
    "/api/signals?symbol=%3Cscript%3Ealert(1)%3C/script%3E",
    "/sign-in/callback?error=%3Cscript%3Ealert(1)%3C/script%3E",
  ])("in a URL never becomes markup in the page: %s", async (path) => {
    const person = testService.person();
    await person.signIn();
    const answer = await fetch(base + path, { headers: { cookie: person.web.cookie() } });
    const body = await answer.text();
    if (answer.headers.get("content-type")?.includes("html")) {
      expect(dangerousTags(body)).toEqual([]);
    }
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("in an email field is shown again only as plain text", async () => {
    const web = createWeb(base);
    const form = (await web.get("/sign-in")).form("/sign-in");
    const { html } = await web.submit(form, { email: '"><script>alert(1)</script>' });
    expect(dangerousTags(html)).toEqual([]);
  });

  it("is rejected as a name if it contains markup, control characters or a URL", async () => {
    for (const name of ["<b>x</b>", "x\u202Ey", "x\u0000y", "https://evil.example", ""]) {
      const answer = await postJson(`${base}/api/apply`, { name, email: "eve@example.com" });
      expect(answer.status, JSON.stringify(name)).toBe(400);
    }
    for (const client_name of ["x\u202Ey", "x\u0007y", "x".repeat(101), "x\u2028y", "<b>x</b>"]) {
      const answer = await postJson(`${base}/oauth/register`, {
        client_name,
        grant_types: ["client_credentials"],
      });
      expect(answer.status, JSON.stringify(client_name)).toBe(400);
    }
  });
});

describe("the existence of an account, client or agent", () => {
  const ask = async (own: string, email: string) => {
    const web = createWeb(own);
    const start = await web.get("/sign-in");
    const page = await web.submit(start.form("/sign-in"), { email });
    const said = textOf(page.html).replaceAll(email, "<email>");
    return { status: page.status, path: page.url.pathname, said };
  };

  it("cannot be inferred from the response to a request for a sign-in code, nor from the store operations that the request causes", async () => {
    const before = await startTestService();
    await before.person("known@example.com").signIn();
    await before.stop();
    // Behind a proxy the code is on no page, so another page asks for it.
    const own = await startTestService({
      SIGN_UP: "closed",
      DATA_DIR: before.folder,
      TRUST_PROXY: "1",
    });
    const known = await leastWork(own.service.state.store.records, () =>
      ask(own.base, "known@example.com"),
    );
    const unknown = await leastWork(own.service.state.store.records, () =>
      ask(own.base, "unknown@example.com"),
    );
    expect(known).toEqual(unknown);
    expect(known.work).toContain("get sign-in-codes");
    expect(known.answer).toMatchObject({ status: 200, path: "/sign-in/code" });
    expect(await own.codesTo("known@example.com")).not.toEqual([]);
    expect(await own.codesTo("unknown@example.com")).toEqual([]);
  });

  it("does not affect the response of the registration endpoint", async () => {
    const agent = await register(base);
    const unknown = agent.registration_client_uri.replace(/.$/, "_");
    const answers = [];
    for (const uri of [agent.registration_client_uri, unknown]) {
      const answer = await getWith("nonsense", uri);
      answers.push([answer.status, await answer.text(), answer.headers.get("www-authenticate")]);
    }
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[0]).toBe(401);
  });

  it("does not affect the response of the token endpoint", async () => {
    const { client_id } = await register(base);
    const answers = [];
    for (const id of [client_id, client_id.replace(/.$/, "_")]) {
      const answer = await postForm(`${base}/oauth/token`, {
        grant_type: "client_credentials",
        client_id: id,
        client_secret: "wrong",
      });
      answers.push([answer.status, await answer.text()]);
    }
    expect(answers[0]).toEqual(answers[1]);
  });

  it("affects neither the response to a claim nor the store operations that the claim causes", async () => {
    const agent = await newAgent();
    const { access_token } = await testService.person().tokens();
    const guess = async (agent_id: string) => {
      const answer = await postJson(
        `${base}/oauth/claim`,
        { agent_id, claim_code: "00000000" },
        { authorization: `Bearer ${access_token}` },
      );
      const body = (await answer.text()).replaceAll(agent_id, "<agent>");
      return [answer.status, body];
    };
    const { records } = testService.service.state.store;
    const known = await leastWork(records, () => guess(agent.client_id));
    const unknown = await leastWork(records, () => guess(agent.client_id.replace(/.$/, "_")));
    expect(known).toEqual(unknown);
    expect(known.work).toContain("get claims");
  });

  it("does not affect the response to an early-access application", async () => {
    const apply = async (email: string) => {
      const answer = await postJson(`${base}/api/apply`, { name: "Ann", email, focus: "quant" });
      const body = (await answer.json()) as { data: Record<string, string> };
      return { status: answer.status, members: Object.keys(body.data), at: body.data.registeredAt };
    };
    const first = await apply("applied@example.com");
    testService.clock.now = new Date(SANDBOX_NOW.getTime() + 60_000);
    const again = await apply("applied@example.com");
    expect(again).toEqual(await apply("new-here@example.com"));
    expect(first.members).toEqual(again.members);
  });
});

/**
 * Measures the store operations of a request: the minimum of a few runs, since some results are
 * cached. Background work of the service belongs to no request and is excluded.
 */
async function leastWork<T>(records: Records, run: () => Promise<T>) {
  const methods = ["get", "list", "commit", "claimDue"] as const;
  const original = Object.fromEntries(methods.map((name) => [name, records[name]]));
  let asked: string[] = [];
  for (const name of methods) {
    const ask = original[name] as (...args: unknown[]) => unknown;
    const noted = (...args: unknown[]) => {
      const [{ name: collection = "" }] = args as [{ name?: string }];
      if (currentRequestId() !== undefined) asked.push(`${name} ${collection}`);
      return ask.apply(records, args);
    };
    Object.assign(records, { [name]: noted });
  }
  const times: (readonly string[])[] = [];
  let answer: T | undefined;
  for (let time = 0; time < 4; time++) {
    asked = [];
    answer = await run();
    times.push(asked.toSorted());
  }
  Object.assign(records, original);
  const [work] = times.toSorted((one, other) => one.length - other.length);
  return { answer: answer as T, work };
}

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});
