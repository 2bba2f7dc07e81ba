// @module-tag full

import { beforeEach, describe, expect, it } from "vitest";
import { channels } from "../../src/alerts/channels/channel.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { emailGroup } from "../../src/mail/email-address.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { insert } from "../../src/store/port/operations.ts";
import { claimLink, postJson, registerClaimable, tokenOf } from "../support/agent.ts";
import { channelAlert } from "../support/channels.ts";
import { authorizationRequest, type Person, registerPublic } from "../support/person.ts";
import { SANDBOX_NOW, startTestService } from "../support/test-service.ts";
import { createWeb, formTokenOf, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;
const EVIL = "https://evil.example";

beforeEach(() => {
  testService.clock.now = SANDBOX_NOW;
});

const pathOf = (action: string) => new URL(action).pathname;

/** Creates a person with one of everything that the account page can remove. */
async function settled(): Promise<Person> {
  const person = testService.person();
  const agent = await registerClaimable(base);
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
  const [agent, other] = [await registerClaimable(base), await registerClaimable(base)];
  const link = await claimLink(base, { agent: other, token: await tokenOf(base, other) });
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
    await web.get(link),
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
  it("changes nothing, whatever fields it sends, by POST or by GET, and whichever site sends it", async () => {
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
    const foreign = formTokenOf(await stranger.get("/sign-in"));
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
        ["a token of another browser", send(foreign, { origin: base })],
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
      await fetch(`${action}?${new URLSearchParams(fields as [string, string][])}`, {
        headers: { cookie: person.web.cookie(action) },
        redirect: "manual",
      });
    }
    expect(textOf((await person.web.get("/account")).html)).toBe(before);
  });
});

describe("a person", () => {
  it("gets the same answer for what belongs to another person as for what does not exist, and changes nothing", async () => {
    const [mine, other] = [await settled(), await settled()];
    const [own, theirs] = [await mine.web.get("/account"), await other.web.get("/account")];
    const forms = theirs.forms.filter(({ action }) => /[^/]{16,}/.test(pathOf(action)));
    const kinds = new Set(forms.map(({ action }) => pathOf(action).split("/")[2]));
    expect([...kinds].sort()).toEqual([
      ...["agents", "alerts", "applications", "channels", "keys", "watchlists"],
    ]);
    for (const { action, fields } of forms) {
      const answerAt = async (address: string) => {
        const filled = { form_token: formTokenOf(own), symbols: "BORUN.SIM" };
        const { status, html } = await mine.web.submit({ action: address, fields }, filled);
        return [status, textOf(html)];
      };
      expect(await answerAt(action), action).toEqual(
        await answerAt(action.replace(/[^/]{16,}(?=\/|$)/, "unknown")),
      );
    }
    expect(textOf((await other.web.get("/account")).html)).toBe(textOf(theirs.html));
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
    const formToken = formTokenOf(await web.get("/account"));
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

it("no attack makes the service log an internal error", () => {
  expect(testService.logged).toEqual([]);
});
