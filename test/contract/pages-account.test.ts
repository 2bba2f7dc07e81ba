import { describe, expect, it } from "vitest";
import { getWith, register, tokenOf } from "../support/agent.ts";
import { startTown } from "../support/town.ts";
import { textOf } from "../support/web.ts";

const town = await startTown();
const { base } = town;

/** An agent with a claim code. */
async function newAgent(client_name = "Night shift") {
  const agent = await register(base, { client_name });
  return { ...agent, ...(agent as unknown as { readonly claim: { readonly code: string } }) };
}

describe("the account page", () => {
  it("says to a new person what each part is for and what to do next", async () => {
    const account = await town.person().signIn();
    const said = textOf(account.html);
    expect(said).toMatch(/Agents you answer for An agent that you claim may do more/);
    // Alerts have no place there, so that nothing must promise them.
    expect(said.replaceAll("alerts:write", "")).not.toMatch(
      /your alerts|their alerts|register alerts/i,
    );
    expect(said).toMatch(/Connected applications An application that you let act for you/);
    expect(said).toMatch(/Your keys A key lets a program of yours read signals/);
    expect(account.html).toContain('<a class="second" href="/claim">Claim an agent</a>');
  });

  it("shows an agent as it calls itself, and ends it with its tokens", async () => {
    const person = town.person();
    const agent = await newAgent();
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

  it("shows an application, and ends what it was allowed", async () => {
    const person = town.person();
    const { access_token } = await person.tokens({ scope: "signals:read" });
    const probe = () => getWith(access_token, `${base}/api/signals?limit=1`);
    expect((await probe()).status).toBe(200);
    const account = await person.web.get("/account");
    expect(textOf(account.html)).toMatch(/Access signals:read Allowed 21 November 2026/);
    const [form] = account.forms.filter(({ action }) => /\/applications\//.test(action));
    if (form === undefined) throw new Error("no application is shown");
    const ended = await person.web.submit(form);
    expect(textOf(ended.html)).toContain("An application that you let act for you");
    expect((await probe()).status).toBe(401);
  });

  it("answers alike for what is not there or somebody else's", async () => {
    const person = town.person();
    const account = await person.signIn();
    const [, formToken = ""] =
      account.form("/sign-out").fields.find(([name]) => name === "form_token") ?? [];
    for (const path of ["keys/key_x/revoke", "agents/agt_x/remove", "applications/x/remove"]) {
      const form = {
        action: `${base}/account/${path}`,
        fields: [["form_token", formToken]] as const,
      };
      const answer = await person.web.submit(form);
      expect([answer.status, answer.url.pathname], path).toEqual([200, "/account"]);
    }
  });

  it("is shut for whoever is not signed in, also to its forms", async () => {
    const person = town.person();
    const account = await person.signIn();
    const key = account.form("/account/keys");
    const out = await person.web.submit(account.form("/sign-out"));
    const [, formToken = ""] =
      out.form("/sign-in").fields.find(([name]) => name === "form_token") ?? [];
    const filled = { form_token: formToken, name: "x", scope: "signals:read" };
    const answer = await person.web.submit(key, filled);
    expect(answer.url.pathname).toBe("/sign-in");
  });
});

describe("a key", () => {
  it("is shown once, works, and can be revoked", async () => {
    const person = town.person();
    const account = await person.signIn();
    const shown = await person.web.submit(account.form("/account/keys"), {
      name: "  notebook   at <home>",
      scope: ["signals:read", "nonsense"],
    });
    expect(shown.status).toBe(200);
    const [key = ""] = /msv_test_\w+/.exec(shown.html) ?? [];
    const probe = () => fetch(`${base}/api/signals?limit=1`, { headers: { "x-api-key": key } });
    expect((await probe()).status).toBe(200);

    const listed = await person.web.get("/account");
    expect(listed.html).not.toContain(key);
    const said = textOf(listed.html);
    expect(said).toMatch(/notebook at <home> Begins with msv_test_\w+… Access signals:read Made/);
    const [revoke] = listed.forms.filter(({ action }) => action.endsWith("/revoke"));
    if (revoke === undefined) throw new Error("no key is shown");
    await person.web.submit(revoke);
    expect((await probe()).status).toBe(401);
  });

  it.each([
    [{ name: "", scope: "signals:read" }, "#name", "Give the key a name."],
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
    [{ name: "x", scope: [] }, "#scope-0", "Choose at least one thing that it may do."],
    [{ name: "x", scope: "everything" }, "#scope-0", "Choose at least one thing that it may do."],
  ])("is not made from %j", async (filled, field, text) => {
    const person = town.person();
    const account = await person.signIn();
    const again = await person.web.submit(account.form("/account/keys"), filled);
    expect(again.status).toBe(400);
    expect(again.html).toContain(`<a href="${field}">${text}</a>`);
    expect(again.html).toContain(`id="${field.slice(1)}-error"`);
    expect(again.forms.some(({ action }) => action.endsWith("/revoke"))).toBe(false);
  });

  it("is not offered when there are five, and not made by a form that is still open", async () => {
    const person = town.person();
    const old = await person.signIn();
    for (let count = 0; count < 5; count++) await person.createKey(["signals:read"]);
    const full = await person.web.get("/account");
    expect(full.forms.map(({ action }) => action)).not.toContain(`${base}/account/keys`);
    expect(textOf(full.html)).toContain("Revoke one to make another.");
    const late = await person.web.submit(old.form("/account/keys"), {
      name: "sixth",
      scope: "signals:read",
    });
    expect(late.status).toBe(400);
    expect(textOf(late.html)).toContain("You have 5 keys already.");
    expect(late.html).not.toContain("sixth");
  });
});
