import { describe, expect, it } from "vitest";
import { type Alert, alerts, type StoredAlert } from "../../src/alerts/alert.ts";
import { replace } from "../../src/store/port/operations.ts";
import { bearer, claimedAgent, makeAlert, writeEvents } from "../support/alert-events.ts";
import { archiveTestAttempt } from "../support/alert-service.ts";
import { addChannel, enterChannelCode, mailbox } from "../support/channel-pages.ts";
import type { Person } from "../support/person.ts";
import { smallMarket } from "../support/small-market.ts";
import { startTestService } from "../support/test-service.ts";
import { textOf, type WebPage } from "../support/web.ts";

const testService = await startTestService();
const { base } = testService;
const { records } = testService.service.state.store;
const HOOK = "https://hooks.example.com/in?key=sesame";

async function signedIn(): Promise<Person> {
  const person = testService.person();
  await person.signIn();
  return person;
}

const newForm = async ({ web }: Person, query = "") =>
  (await web.get(`/account/alerts/new${query}`)).form("/account/alerts");

type Filled = NonNullable<Parameters<Person["web"]["submit"]>[1]>;

/** Creates an alert with the form. @returns The page of the alert. */
async function make(person: Person, filled: Filled = {}): Promise<WebPage> {
  return person.web.submit(await newForm(person), { symbols: "ALDER.SIM", ...filled });
}

const idIn = ({ url, html }: WebPage): string =>
  /alert_\w{16}/.exec(`${url.pathname} ${html}`)?.[0] ?? "";

async function stored(id: string): Promise<StoredAlert> {
  const alert = await records.get(alerts, id);
  if (alert === undefined) throw new Error(`no alert ${id}`);
  return alert;
}

/** Changes a stored alert directly, into a state that it would reach only over time. */
async function become(id: string, change: (alert: Alert) => Partial<Alert>): Promise<void> {
  const alert = await stored(id);
  const value = { ...alert.value, ...change(alert.value) };
  await records.commit([replace(alerts, alert, { value })]);
}

const confirmed = (id: string) =>
  become(id, ({ way }) =>
    way.by === "webhook" ? { way: { ...way, state: { is: "active", since: 0 } } } : {},
  );

const manage = async (person: Person, id: string, filled: Filled) =>
  person.web.submit(
    (await person.web.get(`/account/alerts/${id}`)).form(`/account/alerts/${id}/manage`),
    filled,
  );

/** Adds an email channel and verifies it. */
async function addVerified(person: Person, name: string): Promise<void> {
  const to = `${name.toLowerCase()}@mail.example`;
  await addChannel(person, mailbox(to), name);
  await expect.poll(() => testService.codesTo(to)).toHaveLength(1);
  await enterChannelCode(person, (await testService.codesTo(to))[0] ?? "");
}

describe("the form of a new alert", () => {
  it("creates an alert with the defaults of register_alert, owned by the person", async () => {
    const person = await signedIn();
    const page = await make(person, { symbols: "alder.sim, TONIQ.SIM", delivery: "poll" });
    const id = idIn(page);
    expect(page.url.pathname).toBe(`/account/alerts/${id}`);
    const { value } = await stored(id);
    expect(value).toMatchObject({
      owner: { kind: "user" },
      watched: { by: "symbols", symbols: ["ALDER.SIM", "TONIQ.SIM"] },
      kinds: ["signal_shift", "volatility"],
      thresholds: { scoreMove: 15, volatilityZ: 2.5, cooldownDays: null, reportSessions: 5 },
      way: { by: "poll" },
      expiresAt: null,
    });
    expect(value.owner.clientId).toBeUndefined();
    const account = await person.web.get("/account");
    expect(account.html).toContain(`<a href="/account/alerts/${id}">`);
  });

  it("delivers by default to the person's mailbox, which becomes the first channel and needs no code", async () => {
    const person = testService.person("mailbox@host.example");
    await person.signIn();
    const form = await newForm(person);
    expect(form.fields).toContainEqual(["delivery", "channel"]);
    const { html: shown } = await person.web.get("/account/alerts/new");
    expect(shown).toContain("Email to mailbox@host.example");
    expect(textOf(shown)).toContain("This service sends no mail yet: its operator sees");
    const [page, again] = [await make(person, {}), await make(person, {})];
    for (const { html } of [page, again])
      expect(textOf(html)).toContain("Sent to Your channel Email");
    const account = textOf((await person.web.get("/account")).html);
    expect(account.match(/Email: Email/g)).toHaveLength(1);
    expect(account).toContain("Status Active");
    expect(account).toContain("Last shown to the operator none recently");
    const { html: cards } = await person.web.get("/account");
    // The form suggests a different name for the next channel.
    expect(cards).toContain('value="Email 2"');
    // The only email contains the code of the sign-in.
    expect(await testService.emailsTo("mailbox@host.example")).toHaveLength(1);
  });

  it("does not offer the mailbox once the person has another channel, even an unverified one", async () => {
    const person = await signedIn();
    await addChannel(person, mailbox("later@mail.example"), "Later");
    const none = await person.web.get("/account/alerts/new");
    expect(none.html).toContain('href="/account#channels"');
    expect(none.html).not.toContain("Email to");
    const refused = await make(person, { delivery: "channel", channel: "Email" });
    expect(refused.html).toContain('href="#channel"');
  });

  it("offers the person's channels first, and can deliver to any of them or to none", async () => {
    const person = await signedIn();
    for (const name of ["Phone", "Desk"]) await addVerified(person, name);
    const form = await newForm(person);
    expect(form.fields).toContainEqual(["delivery", "channel"]);
    expect(form.fields).toContainEqual(["channel", "Desk"]);
    const page = await person.web.submit(form, { symbols: "ALDER.SIM" });
    expect(textOf(page.html)).toContain("Sent to Your channel Desk");
    const id = idIn(page);
    const change = async (filled: Filled) => {
      const edit = (await person.web.get(`/account/alerts/${id}/edit`)).form(
        `/account/alerts/${id}`,
      );
      return textOf((await person.web.submit(edit, filled)).html);
    };
    expect(await change({ channel: "Phone" })).toContain("Sent to Your channel Phone");
    expect(await change({ label: "Kept" })).toContain("Sent to Your channel Phone");
    expect(await change({ delivery: "poll" })).toContain("Sent to Nowhere");
  });

  it("creates one alert when it is submitted twice, and a second alert when it was changed in between", async () => {
    const person = await signedIn();
    const form = await newForm(person);
    const send = (label: string) => person.web.submit(form, { symbols: "ALDER.SIM", label });
    const [first, again, other] = [await send("a"), await send("a"), await send("b")];
    expect(idIn(again)).toBe(idIn(first));
    expect(idIn(other)).not.toBe(idIn(first));
  });

  it("sets no score-move threshold when the score move is left empty, so that only new signals are reported", async () => {
    const page = await make(await signedIn(), { scoreMove: "" });
    expect((await stored(idIn(page))).value.thresholds.scoreMove).toBeNull();
    expect(textOf(page.html)).toContain("Thresholds New signals alone; z of volatility from 2.5");
  });

  it("says which instruments have too little coverage to become LONG or SHORT", async () => {
    const small = await startTestService({
      ...{ MARKET: `files:${await smallMarket()}`, SIGN_UP: "open" },
    });
    const person = small.person();
    await person.signIn();
    const page = await make(person, { symbols: "ACME, COIN-USD", signal: "LONG" });
    expect(textOf(page.html)).toContain(
      "Coverage COIN-USD (0.42) cannot become LONG or SHORT with the coverage of now",
    );
    expect(textOf(page.html)).toContain("whose signal is LONG then");
  });

  it.each<[string, Filled, Partial<Alert>]>([
    [
      "an asset class and a signal",
      { watch: "filter", assetClass: "stock", signal: "LONG" },
      { watched: { by: "filter", assetClass: "stock", signal: "LONG" } },
    ],
    [
      "instruments and a signal",
      { signal: "LONG" },
      { watched: { by: "symbols", symbols: ["ALDER.SIM"], signal: "LONG" } },
    ],
    [
      "an expiry and a cooldown",
      { expiresAt: "2026-12-01T08:30", cooldownDays: "2.5" },
      { expiresAt: Date.parse("2026-12-01T08:30Z") },
    ],
    [
      "other event kinds",
      { kinds: ["range", "report"], reportSessions: "3" },
      { kinds: ["report", "range"] },
    ],
    [
      "a level of steadiness",
      { kinds: ["steadiness"], steadinessLevel: "35" },
      { kinds: ["steadiness"], thresholds: expect.objectContaining({ steadinessLevel: 35 }) },
    ],
  ])("accepts %s", async (_, filled, expected) => {
    const page = await make(await signedIn(), filled);
    expect((await stored(idIn(page))).value).toMatchObject(expected);
  });

  it("shows the signing secret of a webhook once, with the next steps", async () => {
    const person = await signedIn();
    const page = await make(person, { delivery: "webhook", url: HOOK });
    expect(page.html).toMatch(/<code id="secret">whsec_[\w+/=]+<\/code>/);
    expect(page.html).toContain('data-copy="secret"');
    expect(page.headers.get("content-security-policy")).toContain("script-src 'self'");
    expect(textOf(page.html)).toContain("The URL gets a signed endpoint.verify in 5 seconds");
    const id = idIn(page);
    const shown = await person.web.get(`/account/alerts/${id}`);
    expect(shown.html).not.toContain("whsec_");
    expect(shown.html).not.toContain("sesame");
    expect(textOf(shown.html)).toContain("Status Waiting for its webhook to confirm");
  });

  it.each<[string, Filled, string, RegExp]>([
    ["no instrument", { symbols: "" }, "symbols", /The instruments must have at least 1 entry/],
    [
      "an unknown instrument",
      { symbols: "Nothing Inc" },
      "symbols",
      /No instrument has the symbol "Nothing Inc"/,
    ],
    ["no event kind", { kinds: [] }, "kinds", /The events must have at least 1 entry/],
    [
      "a score change below the minimum",
      { scoreMove: "4" },
      "scoreMove",
      /The change of the score must be at least 5/,
    ],
    [
      "a threshold that is not a number",
      { volatilityZ: "high" },
      "volatilityZ",
      /The z of volatility must be a number/,
    ],
    [
      "a webhook at a private address",
      { delivery: "webhook", url: "http://10.0.0.1/" },
      "url",
      /public https/,
    ],
    ["an expiry in the past", { expiresAt: "2020-01-01T00:00" }, "expiresAt", /It has passed/],
    [
      "an unknown watchlist",
      { watch: "watchlist", watchlist: "Mine" },
      "save",
      /You have no watchlist/,
    ],
    [
      "an empty filter",
      { watch: "filter" },
      "symbols",
      /one of the first three, a signal, or both/,
    ],
  ])(
    "shows the error at its field, and preserves the input, for %s",
    async (_, filled, id, text) => {
      const person = await signedIn();
      const page = await make(person, { label: "Kept <3", ...filled });
      expect(page.status).toBeGreaterThanOrEqual(400);
      expect(page.html).toContain(`<a href="#${id}">`);
      expect(page.html).toContain(`id="${id}-error"`);
      expect(textOf(page.html)).toMatch(text);
      expect(page.html).toContain('value="Kept &lt;3"');
      for (const [name, value] of Object.entries(filled)) {
        if (typeof value === "string" && !["watch", "watchlist"].includes(name) && value !== "") {
          expect(page.html.replaceAll("&quot;", '"')).toContain(`value="${value}"`);
        }
      }
      expect(textOf((await person.web.get("/account")).html)).not.toContain("Kept <3");
    },
  );

  it.each(["alder", "ALDER", "Aldermoor", "aldermoor circuits"])(
    "takes %s for the one instrument that it names",
    async (symbols) => {
      const made = await make(await signedIn(), { symbols: `${symbols}, toniq.sim` });
      expect((await stored(idIn(made))).value.watched).toMatchObject({
        symbols: ["ALDER.SIM", "TONIQ.SIM"],
      });
    },
  );

  it.each([
    ["br", ["BRAKN.SIM", "BRIKT.SIM"]],
    // Inside a word of one name: it may be another company's.
    ["dermoor", ["ALDER.SIM"]],
  ])("shows what %s fits, and uses the selected instrument", async (text, fitting) => {
    const person = await signedIn();
    const page = await make(person, { symbols: `${text}, TONIQ.SIM` });
    expect(textOf(page.html)).toContain(`Choose what you mean by “${text}”`);
    for (const symbol of fitting) expect(page.html).toContain(`value="${symbol}"`);
    const [symbol = ""] = fitting;
    const made = await person.web.submit(page.form("/account/alerts"), { symbol: [symbol] });
    expect((await stored(idIn(made))).value.watched).toMatchObject({
      symbols: [symbol, "TONIQ.SIM"].toSorted(),
    });
  });

  it("can be prefilled by a link, even if the person must sign in first", async () => {
    const person = testService.person();
    const asked = await person.web.get("/account/alerts/new?symbols=ALDER.SIM");
    const page = await person.signIn(asked);
    expect(page.url.pathname + page.url.search).toBe("/account/alerts/new?symbols=ALDER.SIM");
    expect(page.html).toContain('value="ALDER.SIM"');
  });
});

describe("an alert of a person", () => {
  it("can be changed in its form, which shows its current settings", async () => {
    const person = await signedIn();
    const id = idIn(await make(person, { scoreMove: "20", label: "Old" }));
    const edit = await person.web.get(`/account/alerts/${id}/edit`);
    expect(edit.html).toContain('value="Old"');
    await person.web.submit(edit.form(`/account/alerts/${id}`), { label: "", scoreMove: "" });
    const { value } = await stored(id);
    expect(value).toMatchObject({ label: null, thresholds: { scoreMove: null, volatilityZ: 2.5 } });
  });

  it("is not overwritten by a form that was opened before a newer change, and the form then shows both versions", async () => {
    const person = await signedIn();
    const id = idIn(await make(person, { label: "First" }));
    const path = `/account/alerts/${id}`;
    const [early, late] = [
      (await person.web.get(`${path}/edit`)).form(path),
      (await person.web.get(`${path}/edit`)).form(path),
    ];
    await person.web.submit(early, { label: "Second" });
    const refused = await person.web.submit(late, { label: "Third" });
    expect(refused.status).toBe(409);
    expect(textOf(refused.html)).toMatch(/Saved meanwhile .* Name Second/);
    expect(refused.html).toContain('value="Third"');
    expect((await stored(id)).value.label).toBe("Second");
    await person.web.submit(refused.form(path));
    expect((await stored(id)).value.label).toBe("Third");
  });

  it("can still be saved from a form that was open when its webhook was confirmed", async () => {
    const person = await signedIn();
    const id = idIn(await make(person, { delivery: "webhook", url: HOOK }));
    const path = `/account/alerts/${id}`;
    const form = (await person.web.get(`${path}/edit`)).form(path);
    await confirmed(id);
    await person.web.submit(form, { label: "Named" });
    const { value } = await stored(id);
    expect(value).toMatchObject({ label: "Named", way: { state: { is: "active" } } });
    expect((await person.web.get(`${path}/edit`)).html).toContain(`value="${HOOK}"`);
  });

  it("can be paused, resumed and snoozed", async () => {
    const person = await signedIn();
    const id = idIn(await make(person));
    const paused = await manage(person, id, { action: "pause" });
    expect(textOf(paused.html)).toMatch(/Paused: no event .* Status Paused/);
    const resumed = await manage(person, id, { action: "resume" });
    expect(textOf(resumed.html)).toContain("Status Active");
    const snoozed = await manage(person, id, { action: "snooze", hours: "1" });
    expect(textOf(snoozed.html)).toContain("Status Snoozed until 21 November 2026, 06:00 UTC");
  });

  it("can send a test event, and can get a new secret and a new challenge", async () => {
    const person = await signedIn();
    const id = idIn(await make(person, { delivery: "webhook", url: HOOK }));
    expect((await manage(person, id, { action: "test" })).status).toBe(409);
    expect((await manage(person, id, { action: "enable" })).status).toBe(200);
    await confirmed(id);
    expect(textOf((await manage(person, id, { action: "test" })).html)).toContain("A test is on");
    const rotated = await manage(person, id, { action: "rotate_secret" });
    expect(rotated.html).toContain('<code id="secret">whsec_');
  });

  it("shows its events with links, and every delivery attempt", async () => {
    const person = await signedIn();
    const id = idIn(await make(person, { delivery: "webhook", url: HOOK }));
    const { owner } = (await stored(id)).value;
    const at = testService.clock.now.getTime();
    const data = {
      ...{ symbol: "ALDER.SIM", signal: "LONG", score: 71, reason: "direction" },
      previousSignal: "WAIT",
    };
    await writeEvents(testService, { alertId: id, owner }, [at - 2_000, at - 1_000], data);
    await confirmed(id);
    const { store } = testService.service.state;
    const failed = { error: "http_status", status: 500, response: "<b>no</b>" } as const;
    await archiveTestAttempt(store, { alertId: id, eventId: "msg_1", at, ...failed });
    const page = await person.web.get(`/account/alerts/${id}`);
    expect(page.html.match(/<a href="\/market\/ALDER.SIM">/g)).toHaveLength(3);
    const said = textOf(page.html);
    expect(said).toContain("LONG, was WAIT 71");
    expect(said).toMatch(/Deliveries .* signal.shift attempt 1 500 .*<b>no<\/b>/);
    const again = await manage(person, id, { action: "redeliver", eventId: "msg_none" });
    expect([again.status, textOf(again.html)]).toEqual([
      404,
      expect.stringContaining("The alert had no event of that id in the last 30 days."),
    ]);
    expect((await manage(person, id, { action: "redeliver" })).status).toBe(200);
  });

  it("cannot be seen or changed by other people or by applications", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const id = idIn(await make(person, { label: "Private" }));
    for (const path of [`/account/alerts/${id}`, `/account/alerts/${id}/edit`]) {
      expect((await other.web.get(path)).status).toBe(404);
    }
    const form = (await other.web.get("/account/alerts/new")).form("/account/alerts");
    for (const action of [`${base}/account/alerts/${id}`, `${base}/account/alerts/${id}/manage`]) {
      const filled = { symbols: "ALDER.SIM", action: "pause" };
      expect((await other.web.submit({ ...form, action }, filled)).status).toBe(404);
    }
    const headers = bearer((await person.tokens()).access_token);
    expect((await fetch(`${base}/api/alerts/${id}`, { headers })).status).toBe(404);
    expect((await stored(id)).value).toMatchObject({ label: "Private", isPaused: false });
  });

  it("created by the person's agent has no page, but can be deleted on the account page", async () => {
    const person = await signedIn();
    const { token } = await claimedAgent(testService, person);
    const id = await makeAlert(testService, bearer(token));
    expect((await person.web.get(`/account/alerts/${id}`)).status).toBe(404);
    const account = await person.web.get("/account");
    expect(account.html).not.toContain(`href="/account/alerts/${id}"`);
    expect(account.html).toContain(`action="/account/alerts/${id}/remove"`);
  });
});

describe("a watchlist on the pages", () => {
  /**
   * Creates a watchlist with the link on an instrument's page.
   * @returns The market page, limited to the watchlist.
   */
  const listed = async (person: Person, filled: Filled) => {
    const page = await person.web.get("/market/ALDER.SIM");
    expect(page.html).toContain('href="/account/alerts/new?symbols=ALDER.SIM"');
    const [, add = ""] = /href="(\/account\/watchlists\/new[^"]*)"/.exec(page.html) ?? [];
    return person.web.submit((await person.web.get(add)).form("/account/watchlists"), filled);
  };
  const rows = ({ html }: WebPage) =>
    [...html.matchAll(/<tr id="row-([^"]+)"/g)].map(([, symbol]) => symbol);

  it("is created from an instrument, shown on the market page, and watched by an alert", async () => {
    const person = await signedIn();
    const market = await listed(person, { name: "Chips & more" });
    expect(market.url.pathname).toBe("/");
    expect(rows(market)).toEqual(["ALDER.SIM"]);
    const more = await listed(person, { symbols: "BYTEN.SIM TONIQ.SIM", list: "Chips & more" });
    expect(rows(more)).toEqual(["ALDER.SIM", "BYTEN.SIM", "TONIQ.SIM"]);
    const [, link = ""] = /href="(\/account\/alerts\/new[^"]*)"/.exec(more.html) ?? [];
    const form = await person.web.get(link);
    expect(form.html).toContain('<option value="Chips &amp; more" selected>');
    const filled = { watchlist: "Chips & more" };
    const made = await person.web.submit(form.form("/account/alerts"), filled);
    expect((await stored(idIn(made))).value.watched).toMatchObject({
      ...{ by: "watchlist", name: "Chips & more" },
    });
    expect((await person.web.get("/account")).html).toContain(
      `<a href="/${more.url.search}#market">See it on the market</a>`,
    );
  });

  it("is visible only to its owner", async () => {
    const [person, other] = [await signedIn(), await signedIn()];
    const { url } = await listed(person, { name: "Mine" });
    for (const web of [other.web, testService.person().web]) {
      const page = await web.get(url);
      expect(page.status).toBe(400);
      expect(textOf(page.html)).toContain("You have no such watchlist.");
      expect(rows(page)).toEqual([]);
      expect(page.html).not.toContain("Mine");
    }
  });

  it.each<[string, Filled, string]>([
    ["without a name", { name: "" }, "name"],
    ["without instruments", { name: "None", symbols: "" }, "symbols"],
    ["with an unknown instrument", { name: "Odd", symbols: "NOPE.SIM" }, "symbols"],
  ])("is rejected %s, with an error at its field", async (_, filled, id) => {
    const page = await listed(await signedIn(), filled);
    expect(page.status).toBe(400);
    expect(page.html).toContain(`id="${id}-error"`);
  });
});
