import { describe, expect, it } from "vitest";
import { allScopes } from "../../src/access/scopes.ts";
import { type Alert, alerts } from "../../src/alerts/alert.ts";
import { put, replace } from "../../src/store/port/operations.ts";
import { getWith, postJson, registerClaimable, tokenOf } from "../support/agent.ts";
import {
  bearer,
  claimedAgent,
  type Headers,
  makeAlert,
  watcherIn,
} from "../support/alert-events.ts";
import { archiveTestAttempt } from "../support/alert-service.ts";
import { startTestService } from "../support/test-service.ts";
import { formTokenOf, textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;

/** Returns the ids of the caller's alerts. */
async function alertsOf(headers: Headers): Promise<readonly string[]> {
  const response = await fetch(`${base}/api/alerts`, { headers });
  const { items } = (await response.json()) as { readonly items: { readonly id: string }[] };
  return items.map(({ id }) => id);
}

/** Returns the text of each card in the page's list of alerts. */
const alertCards = ({ html }: WebPage): readonly string[] =>
  (/<section aria-labelledby="alerts">(.*?)<\/section>/s.exec(html)?.[1] ?? "")
    .split('<li class="card">')
    .slice(1)
    .map(textOf);

/** Changes a stored alert directly, into a state that it would reach only over time. */
async function become(id: string, change: (alert: Alert) => Partial<Alert>): Promise<void> {
  const { records } = testService.service.state.store;
  const stored = await records.get(alerts, id);
  if (stored === undefined) throw new Error("there is no such alert");
  const value = { ...stored.value, ...change(stored.value) };
  await records.commit([replace(alerts, stored, { value })]);
}

const HOOK = { type: "webhook", url: "https://hooks.example.com:8443/in/secret-path?key=sesame" };

describe("the account page", () => {
  it("explains each section and its next step to a new person", async () => {
    const account = await testService.person().signIn();
    const said = textOf(account.html);
    expect(said).toMatch(/Your agents An agent that you claim may do more/);
    expect(said).toMatch(/Your alerts An alert tells when a signal changes/);
    expect(account.html).toContain('<a class="main" href="/account/alerts/new">Make an alert</a>');
    expect(said).toMatch(/Connected applications Applications that act for you appear here/);
    expect(said).toMatch(/Your keys A key lets a program of yours read signals/);
    expect(account.html).toContain('<a class="second" href="/claim">Claim an agent</a>');
  });

  it("shows an agent by its own name, and removes it together with its tokens", async () => {
    const person = testService.person();
    const agent = await registerClaimable(base, { client_name: "Night shift" });
    await person.signIn();
    await person.claim(agent.client_id, agent.claim.code);
    const token = await tokenOf(base, agent);
    const probe = () => getWith(token, `${base}/api/signals?limit=1`);
    expect((await probe()).status).toBe(200);

    const account = await person.web.get("/account");
    const said = textOf(account.html);
    expect(said).toContain("“Night shift” not verified");
    expect(said).toContain(agent.client_id);
    expect(said).toContain("Claimed 21 November 2026, 05:00 UTC");
    expect(said).toContain("Remove agent and end its tokens");
    const removed = await person.web.submit(
      account.form(`/account/agents/${agent.client_id}/remove`),
    );
    expect(removed.url.href).toBe(`${base}/account`);
    expect(removed.html).not.toContain(agent.client_id);
    expect((await probe()).status).toBe(401);
  });

  it("shows an application that the person has authorized, and revokes its grant", async () => {
    const person = testService.person();
    const { access_token } = await person.tokens({ scope: "signals:read" });
    const probe = () => getWith(access_token, `${base}/api/signals?limit=1`);
    expect((await probe()).status).toBe(200);
    const account = await person.web.get("/account");
    expect(textOf(account.html)).toMatch(
      /Access signals:read Allowed \d+ \w+ \d{4}, \d\d:\d\d UTC/,
    );
    const [form] = account.forms.filter(({ action }) => /\/applications\//.test(action));
    if (form === undefined) throw new Error("no application is shown");
    const ended = await person.web.submit(form);
    expect(textOf(ended.html)).toContain("Applications that act for you appear here");
    expect((await probe()).status).toBe(401);
  });

  it("requires a sign-in, and so do its forms", async () => {
    const person = testService.person();
    const account = await person.signIn();
    const key = account.form("/account/keys");
    const out = await person.web.submit(account.form("/sign-out"));
    const filled = { form_token: formTokenOf(out), name: "x", scope: "signals:read" };
    const answer = await person.web.submit(key, filled);
    expect(answer.url.pathname).toBe("/sign-in");
  });
});

describe("an API key", () => {
  it("is shown once, is accepted by the API, and can be revoked", async () => {
    const person = testService.person();
    const account = await person.signIn();
    const shown = await person.web.submit(account.form("/account/keys"), {
      name: "  notebook   at < home >",
      scope: ["signals:read", "nonsense"],
    });
    expect(shown.status).toBe(200);
    const [key = ""] = /msv_test_\w+/.exec(shown.html) ?? [];
    const probe = () => fetch(`${base}/api/signals?limit=1`, { headers: { "x-api-key": key } });
    expect((await probe()).status).toBe(200);

    const listed = await person.web.get("/account");
    expect(listed.html).not.toContain(key);
    const said = textOf(listed.html);
    expect(said).toMatch(
      /notebook at < home > Begins with msv_test_\w+… Access signals:read Created/,
    );
    const [revoke] = listed.forms.filter(({ action }) => action.endsWith("/revoke"));
    if (revoke === undefined) throw new Error("no key is shown");
    await person.web.submit(revoke);
    expect((await probe()).status).toBe(401);
  });

  it.each([
    [{ name: "", scope: "signals:read" }, "#name", "Give the key a name."],
    [
      { name: "at <home>", scope: "signals:read" },
      "#name",
      "The name must have no markup such as &lt;b&gt; and no script such as javascript:x; put a space after a &lt; or a : that is none.",
    ],
    [
      { name: "x".repeat(61), scope: "signals:read" },
      "#name",
      "The name has at most 60 characters.",
    ],
    [
      { name: "a\u202Eb", scope: "signals:read" },
      "#name",
      "The name has characters that cannot be shown.",
    ],
    [{ name: "\u3164", scope: "signals:read" }, "#name", "Give the key a name."],
    [{ name: "x", scope: [] }, "#scope", "Select at least one permission."],
    [{ name: "x", scope: "everything" }, "#scope", "Select at least one permission."],
  ])("is not created for %j", async (filled, field, text) => {
    const person = testService.person();
    const account = await person.signIn();
    const again = await person.web.submit(account.form("/account/keys"), filled);
    expect(again.status).toBe(400);
    expect(again.html).toContain(`<a href="${field}">${text}</a>`);
    expect(again.html).toContain(`id="${field.slice(1)}-error"`);
    expect(again.forms.some(({ action }) => action.endsWith("/revoke"))).toBe(false);
  });

  it("cannot be created when five exist, even from a form that was opened earlier", async () => {
    const person = testService.person();
    const old = await person.signIn();
    for (let count = 0; count < 5; count++) await person.createKey(["signals:read"]);
    const full = await person.web.get("/account");
    expect(full.forms.map(({ action }) => action)).not.toContain(`${base}/account/keys`);
    expect(textOf(full.html)).toContain("Revoke one to create another.");
    const late = await person.web.submit(old.form("/account/keys"), {
      name: "sixth",
      scope: "signals:read",
    });
    expect(late.status).toBe(400);
    expect(textOf(late.html)).toContain("You have 5 keys already.");
    expect(late.html).not.toContain("sixth");
  });
});

describe("the alerts on the account page", () => {
  it("include those of the person, of agents and of API keys, and can be deleted one by one", async () => {
    const person = testService.person();
    const { access_token, client } = await person.tokens();
    const own = bearer(access_token);
    const key = { "x-api-key": await person.createKey(["alerts:write", "signals:read"]) };
    const { agent, token } = await claimedAgent(testService, person);
    const ids = [
      await makeAlert(testService, own, { label: "mine" }),
      await makeAlert(testService, key, { label: "of the key", kinds: ["volatility"] }),
      await makeAlert(testService, bearer(token), { label: "of the agent", delivery: HOOK }),
    ];
    const stranger = await watcherIn(
      testService,
      bearer((await testService.person().tokens()).access_token),
    );

    const page = await person.web.get("/account");
    const cards = alertCards(page);
    expect(cards).toHaveLength(3);
    const find = (label: string) => cards.find((card) => card.includes(`“${label}”`)) ?? "";
    expect(find("mine")).toMatch(
      /Status Active Watches ALDER.SIM Notifies about A signal change or a large score change, and unusual volatility Sent to Nowhere: it is polled Created by Application \S+ Created 21 November 2026, 05:00 UTC Id alert_/,
    );
    expect(find("of the key")).toMatch(
      /Notifies about Unusual volatility Sent to Nowhere: it is polled Created by Your key key alerts:write signals:read/,
    );
    expect(find("mine")).toContain(`Application ${client.client_id} `);
    expect(find("of the agent")).toContain(`Created by Agent ${agent.client_id}`);
    expect(page.html).not.toContain(stranger.alertId);

    for (const [index, id] of ids.entries()) {
      const shown = await person.web.get("/account");
      const after = await person.web.submit(shown.form(`/account/alerts/${id}/remove`));
      expect(after.url.href).toBe(`${base}/account`);
      expect(alertCards(after)).toHaveLength(2 - index);
    }
    for (const headers of [own, key, bearer(token)]) expect(await alertsOf(headers)).toEqual([]);
    expect(await alertsOf(stranger.headers)).toEqual([stranger.alertId]);
  });

  it("show only the host of a webhook, and the time of its last accepted delivery", async () => {
    const person = testService.person();
    const own = bearer((await person.tokens()).access_token);
    const id = await makeAlert(testService, own, { delivery: HOOK });
    const page = await person.web.get("/account");
    expect(alertCards(page)[0]).toMatch(
      /Alert without a label Status Waiting for its webhook to confirm .* Sent to hooks.example.com:8443 Last success none recently/,
    );
    expect(page.html).not.toMatch(/secret-path|sesame/);

    const { store } = testService.service.state;
    const at = testService.clock.now.getTime() - 60_000;
    await archiveTestAttempt(store, { alertId: id, eventId: "msg_1", at });
    const failed = { error: "http_status", status: 500 } as const;
    await archiveTestAttempt(store, { alertId: id, eventId: "msg_2", at: at + 30_000, ...failed });
    const later = await person.web.get("/account");
    expect(alertCards(later)[0]).toContain("Last success 21 November 2026, 04:59 UTC");
  });

  it("show their status", async () => {
    const person = testService.person();
    const own = bearer((await person.tokens()).access_token);
    const expiresAt = new Date(testService.clock.now.getTime() + 3_600_000).toISOString();
    const id = await makeAlert(testService, own, {
      ...{ symbols: undefined, assetClass: "crypto", signal: "LONG", expiresAt },
    });
    const card = async () => alertCards(await person.web.get("/account"))[0] ?? "";
    expect(await card()).toMatch(/Watches All coins whose signal is LONG .* Ends 21 November 2026/);
    const patch = async (change: object) =>
      void (await fetch(`${base}/api/alerts/${id}`, {
        method: "PATCH",
        headers: { "content-type": "application/json", ...own },
        body: JSON.stringify(change),
      }));
    await patch({ snoozedUntil: expiresAt });
    expect(await card()).toContain("Status Snoozed until 21 November 2026, 06:00 UTC");
    await patch({ action: "pause" });
    expect(await card()).toContain("Status Paused");
  });

  it.each([
    ["gone", "its webhook answered 410 Gone"],
    ["failing", "its webhook failed for five days"],
    ["unverified", "its webhook never confirmed"],
  ] as const)("state why a webhook is disabled: %s", async (reason, words) => {
    const person = testService.person();
    const own = bearer((await person.tokens()).access_token);
    const id = await makeAlert(testService, own, { delivery: HOOK });
    const card = async () => alertCards(await person.web.get("/account"))[0];
    await become(id, (alert) => {
      if (alert.way.by !== "webhook") throw new Error("the alert has no webhook");
      return { way: { ...alert.way, state: { is: "disabled", since: 0, reason } } };
    });
    expect(await card()).toContain(`Status Stopped: ${words}`);
    await become(id, () => ({ expiresAt: testService.clock.now.getTime() }));
    expect(await card()).toContain("Status Expired");
  });

  it("escape text chosen by others, and truncate long lists", async () => {
    const person = testService.person();
    const own = bearer((await person.tokens()).access_token);
    const symbols = testService.service.market.instruments().map(({ symbol }) => symbol);
    const label = '" autofocus onfocus="alert(1)" <3';
    await makeAlert(testService, own, { label, symbols });
    const page = await person.web.get("/account");
    expect(page.html).not.toContain('onfocus="');
    const [card = ""] = alertCards(page);
    expect(card).toContain(`“${label}”`);
    expect(card).toContain(
      `${symbols.toSorted()[11]} and ${symbols.length - 12} more Notifies about`,
    );
    expect(card).not.toContain(symbols.toSorted()[12]);
  });

  it("are limited to 100, and the page states how many are omitted", {
    tags: ["full"],
  }, async () => {
    const person = testService.person();
    const own = bearer(await person.createKey(allScopes));
    const first = await makeAlert(testService, own);
    for (let count = 1; count < 100; count++) await makeAlert(testService, own);
    // An account is now limited to 100 alerts, but older data may contain more.
    const last = ["alr_old1", "alr_old2"];
    const { records } = testService.service.state.store;
    const stored = await records.get(alerts, first);
    if (stored === undefined) throw new Error("there is no such alert");
    const value = { ...stored.value, createdAt: stored.value.createdAt + 1 };
    await records.commit(last.map((key) => put(alerts, { key, value })));
    const page = await person.web.get("/account");
    expect(alertCards(page)).toHaveLength(100);
    expect(textOf(page.html)).toContain("2 more are not shown.");
    expect(last.filter((id) => page.html.includes(id))).toEqual([]);
  });
});

describe("the watchlists on the account page", () => {
  /**
   * A person with one watchlist of an application and one of an API key, and another person's
   * watchlist.
   */
  async function lists() {
    const [person, other] = [testService.person(), testService.person()];
    const own = bearer((await person.tokens()).access_token);
    const key = { "x-api-key": await person.createKey(["alerts:write", "signals:read"]) };
    const stranger = bearer((await other.tokens()).access_token);
    for (const [headers, watchlist] of [
      [own, "of the application"],
      [key, "mine & yours"],
      [stranger, "of a stranger"],
    ] as const) {
      const body = { watchlist, symbols: ["ALDER.SIM", "BYTEN.SIM"] };
      expect((await postJson(`${base}/api/watchlists`, body, headers)).status).toBe(200);
    }
    return { person, own, key, stranger };
  }

  const listsOf = async (headers: Headers) => {
    const response = await fetch(`${base}/api/watchlists`, { headers });
    return ((await response.json()) as { readonly watchlists: readonly object[] }).watchlists;
  };

  const formOf = (page: WebPage, place: number) => {
    const form = page.forms.filter(({ action }) => /watchlists\/[^/]+$/.test(action))[place];
    if (form === undefined) throw new Error("no such form");
    return form;
  };

  it("include those of the person and of all the person's clients, and can be changed and deleted", async () => {
    const { person, own, key, stranger } = await lists();
    const page = await person.web.get("/account");
    const said = textOf(page.html);
    expect(said).toContain("“mine & yours”");
    expect(said).toMatch(/“of the application” Symbols ALDER.SIM BYTEN.SIM Made by Application/);
    expect(said).not.toContain("of a stranger");
    expect(await listsOf(key)).toEqual([
      { name: "mine & yours", symbols: ["ALDER.SIM", "BYTEN.SIM"], readOnly: false },
      { name: "of the application", symbols: ["ALDER.SIM", "BYTEN.SIM"], readOnly: true },
    ]);

    const form = formOf(page, 1);
    const changed = await person.web.submit(form, { symbols: "borun.sim, CIRRO.SIM" });
    expect(changed.url.pathname).toBe("/account");
    expect(await listsOf(own)).toContainEqual({
      ...{ name: "of the application", symbols: ["BORUN.SIM", "CIRRO.SIM"], readOnly: false },
    });
    const later = formOf(changed, 1);
    for (const text of ["", "X ".repeat(101)]) {
      expect((await person.web.submit(later, { symbols: text })).status).toBe(400);
    }
    const { action } = form;
    const after = await person.web.submit(page.form(`${new URL(action).pathname}/remove`));
    expect(textOf(after.html)).not.toContain("of the application");
    expect(await listsOf(stranger)).toHaveLength(1);
  });

  it("are not deleted while an alert watches them", async () => {
    const { person, own } = await lists();
    const { action } = formOf(await person.web.get("/account"), 1);
    await makeAlert(testService, own, { symbols: undefined, watchlist: "of the application" });
    const removal = (await person.web.get("/account")).form(`${new URL(action).pathname}/remove`);
    expect((await person.web.submit(removal)).status).toBe(409);
    expect(await listsOf(own)).toContainEqual(
      expect.objectContaining({ name: "of the application" }),
    );
  });

  it("are not overwritten by a form that was opened before a newer change, which then shows both versions", async () => {
    const { person, key } = await lists();
    const form = formOf(await person.web.get("/account"), 0);
    const body = { watchlist: "mine & yours", symbols: ["ALDER.SIM", "TONIQ.SIM"], action: "set" };
    expect((await postJson(`${base}/api/watchlists`, body, key)).status).toBe(200);
    const refused = await person.web.submit(form, { symbols: "ALDER.SIM BYTEN.SIM" });
    expect(refused.status).toBe(400);
    expect(textOf(refused.html)).toMatch(
      /ALDER.SIM TONIQ.SIM .* It was changed after you opened it/,
    );
    expect(refused.html).toContain("ALDER.SIM BYTEN.SIM</textarea>");
  });

  it("report an unknown symbol at its field, and preserve the input", async () => {
    const { person } = await lists();
    const form = formOf(await person.web.get("/account"), 0);
    const refused = await person.web.submit(form, { symbols: "ALDER.SIM NOPE.SIM" });
    const field = `${form.action.split("/").at(-1)}-symbols`;
    expect(refused.html).toContain(
      `<a href="#${field}">No instrument has the symbol &quot;NOPE.SIM&quot;`,
    );
    expect(refused.html).toContain("ALDER.SIM NOPE.SIM</textarea>");
  });
});
