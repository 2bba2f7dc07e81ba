import { describe, expect, it } from "vitest";
import { alerts, ownerGroup, type StoredAlert } from "../../src/alerts/alert.ts";
import { newAlertId } from "../../src/alerts/api/ownership.ts";
import { type Channel, channels } from "../../src/alerts/channels/channel.ts";
import { deliveries } from "../../src/alerts/delivery/delivery.ts";
import { createKeyringVault } from "../../src/keys/keyring-vault.ts";
import { accounts } from "../../src/principals/accounts/accounts.ts";
import { forgetEmail } from "../../src/principals/accounts/forget.ts";
import {
  accountRecordsGroup,
  clients,
  ownedAgentsGroup,
} from "../../src/principals/agents/agent.ts";
import { apiKeys } from "../../src/principals/keys/api-keys.ts";
import { put, remove } from "../../src/store/port/operations.ts";
import { readAll } from "../../src/store/port/read-all.ts";
import type { Records } from "../../src/store/port/records.ts";
import { setAsideRecords } from "../../src/store/set-aside.ts";
import { getWith, newToken, postJson, register, tokenOf } from "../support/agent.ts";
import { bearer, claimedAgent, makeAlert, watcherIn } from "../support/alert-events.ts";
import { operatorOf, rowsOf } from "../support/operator.ts";
import type { Person } from "../support/person.ts";
import { startReceiver } from "../support/receivers.ts";
import { startTestService } from "../support/test-service.ts";
import { queuedEvent, storeWebhookAlert, webhookAlert } from "../support/webhook-alerts.ts";

const testService = await startTestService({ ALLOW_INSECURE_WEBHOOKS: "1" });
const { base, service, clock } = testService;
const { records } = service.state.store;
const operator = operatorOf(testService);

const statusOf = async (headers: Readonly<Record<string, string>>) =>
  (await fetch(`${base}/api/signals?limit=1`, { headers })).status;

/** The account of a person who has signed in. */
async function accountOf(person: Person): Promise<string> {
  const listed = await operator("admin accounts list", { email: person.email });
  return String(rowsOf(listed, "accounts")[0]?.id);
}

/** Stores a watchlist of a caller. @returns The status of the answer. */
const setList = async (token: string, watchlist: string) =>
  (await postJson(`${base}/api/watchlists`, { watchlist, symbols: ["ALDER.SIM"] }, bearer(token)))
    .status;

describe("an agent that the operator disables", () => {
  it("loses tokens, registration and alerts, and has them again once it is enabled", async () => {
    const person = testService.person();
    const { agent, token } = await claimedAgent(testService, person);
    const id = agent.client_id;
    const alertId = await makeAlert(testService, bearer(token));

    await operator("admin agents disable", { id });
    expect(await statusOf(bearer(token))).toBe(401);
    await expect(tokenOf(base, agent)).rejects.toThrow();
    const again = await operator("admin agents disable", { id });
    expect(again.lines).toEqual([`The agent ${id} was disabled before.`]);
    const [listed] = rowsOf(await operator("admin agents list", { disabled: true }), "agents");
    expect(listed).toMatchObject({ id, disabledAt: clock.now.toISOString() });

    await operator("admin agents enable", { id });
    expect(await statusOf(bearer(token))).toBe(200);
    expect(
      (await getWith(await tokenOf(base, agent), `${base}/api/alerts/${alertId}`)).status,
    ).toBe(200);
    const audited = rowsOf(await operator("admin audit", { id }), "rows");
    expect(audited.map(({ action }) => action)).toEqual(
      expect.arrayContaining(["client.disabled", "client.enabled"]),
    );
    expect(audited.filter(({ actor }) => actor === "operator")).toHaveLength(2);
  });

  it("keeps its watchlists and alerts while another agent of its person needs the room", async () => {
    const person = testService.person();
    const { agent, token } = await claimedAgent(testService, person);
    const other = await claimedAgent(testService, person, "Day shift");
    const id = agent.client_id;
    expect(await setList(token, "Mine")).toBe(200);
    const alertId = await makeAlert(testService, bearer(token), {
      symbols: undefined,
      watchlist: "Mine",
    });
    const { value } = (await records.get(alerts, alertId)) as StoredAlert;
    const more = Array.from({ length: 99 }, newAlertId);
    await records.commit(more.map((key) => put(alerts, { key, value })));

    await operator("admin agents disable", { id });
    expect(await setList(other.token, "Theirs")).toBe(200);
    await expect(makeAlert(testService, bearer(other.token))).rejects.toThrow("409");
    await operator("admin agents enable", { id });

    const lists = await (await getWith(token, `${base}/api/watchlists`)).json();
    expect(lists).toMatchObject({ watchlists: [{ name: "Mine" }] });
    expect((await getWith(token, `${base}/api/alerts/${alertId}`)).status).toBe(200);
    expect(await readAll(records, alerts, ownerGroup(value.owner))).toHaveLength(100);
  });

  it("loses its registration as long as it is disabled", async () => {
    const agent = await register(base);
    const managed = async () =>
      (await getWith(agent.registration_access_token, agent.registration_client_uri)).status;
    expect(await managed()).toBe(200);
    await operator("admin agents disable", { id: agent.client_id });
    expect(await managed()).toBe(401);
    await operator("admin agents enable", { id: agent.client_id });
    expect(await managed()).toBe(200);
  });

  it("loses its open stream", async () => {
    const { agent, token } = await claimedAgent(testService, testService.person());
    const stream = await (await watcherIn(testService, bearer(token))).open();
    await stream.untilBlock(({ id }) => id !== undefined);
    await operator("admin agents disable", { id: agent.client_id });
    expect(await stream.ended).toBe("ended");
  });

  it("gets no delivery, not even one that is queued", async () => {
    const { agent } = await claimedAgent(testService, testService.person());
    const inbox = await startReceiver();
    const alert = webhookAlert({
      url: inbox.url,
      owner: { kind: "agent", id: agent.client_id, accountId: undefined },
      vault: createKeyringVault(service.state.keyring),
    });
    await records.commit([storeWebhookAlert(alert), ...queuedEvent(alert)]);
    await inbox.arrived(1);
    await operator("admin agents disable", { id: agent.client_id });
    await records.commit([...queuedEvent(alert)]);
    await expect.poll(() => records.list(deliveries, { limit: 9 })).toEqual([]);
    expect(inbox.received).toHaveLength(1);
    await inbox.close();
  });

  it("is unknown under another id, with the command that lists all", async () => {
    await expect(operator("admin agents disable", { id: "nobody" })).rejects.toThrow(
      "There is no agent nobody; admin agents list says which there are.",
    );
  });
});

describe("an account that the operator disables", () => {
  it("ends with its sessions, tokens, keys and agents, is told so at sign-in, and comes back", async () => {
    const person = testService.person();
    const { agent, token } = await claimedAgent(testService, person);
    const own = await claimedAgent(testService, person, "Day shift");
    const key = await person.createKey(["signals:read"]);
    const { access_token } = await person.tokens();
    const headers = [bearer(token), { "x-api-key": key }, bearer(access_token)];
    const statuses = () => Promise.all(headers.map(statusOf));
    expect(await statuses()).toEqual([200, 200, 200]);
    const id = await accountOf(person);
    await operator("admin agents disable", { id: own.agent.client_id });

    const value = { accountId: id } as Channel;
    await records.commit([put(channels, { key: "channel", value })]);
    const groups = (await records.get(channels, "channel"))?.groups;
    expect(groups).toContain(accountRecordsGroup(id));

    await operator("admin accounts disable", { id });
    expect(await records.get(channels, "channel")).toBeUndefined();
    expect(await statuses()).toEqual([401, 401, 401]);
    expect((await person.web.get("/account")).url.pathname).toBe("/sign-in");
    const page = await person.signIn();
    expect(page.html).toContain("has disabled this account");
    await expect(operator("admin agents enable", { id: agent.client_id })).rejects.toThrow(
      `was disabled with ${id}: enable that`,
    );

    await operator("admin accounts enable", { id });
    expect(await records.get(channels, "channel")).toMatchObject({ groups });
    await records.commit([remove(channels, "channel")]);
    expect(await statuses()).toEqual([200, 200, 200]);
    expect(await statusOf(bearer(own.token))).toBe(401);
  });

  it("ends with a key and an agent that were made while it was being disabled", async () => {
    const person = testService.person();
    await claimedAgent(testService, person);
    const id = await accountOf(person);
    let late: readonly Readonly<Record<string, string>>[] = [];
    const racing: Records = {
      ...records,
      async commit(operations) {
        if (late.length === 0) {
          const key = await person.createKey(["signals:read"]);
          const { token } = await claimedAgent(testService, person, "Late shift");
          late = [{ "x-api-key": key }, bearer(token)];
        }
        return records.commit(operations);
      },
    };
    const { state } = service;
    const store = { ...state.store, records: racing };
    const raced = operatorOf({ clock, service: { state: { ...state, store } } });
    await raced("admin accounts disable", { id });
    const statuses = () => Promise.all(late.map(statusOf));
    expect(await statuses()).toEqual([401, 401]);
    expect(await readAll(records, apiKeys, accountRecordsGroup(id))).toEqual([]);
    expect(await readAll(records, clients, ownedAgentsGroup(id))).toEqual([]);
    await operator("admin accounts enable", { id });
    expect(await statuses()).toEqual([200, 200]);
  });

  it("does not bring back an agent or a key that was ended on its own meanwhile", async () => {
    const person = testService.person();
    const { agent, token } = await claimedAgent(testService, person);
    const key = await person.createKey(["signals:read"]);
    const id = await accountOf(person);
    const keys = rowsOf(await operator("admin key list", {}), "keys");
    const keyId = keys.find(({ accountId }) => accountId === id)?.id;
    await operator("admin accounts disable", { id });

    const agentId = { id: agent.client_id };
    expect((await operator("admin agents disable", agentId)).lines).toEqual([
      `Disabled the agent ${agentId.id} on its own: it stays so when ${id} is enabled.`,
    ]);
    expect((await operator("admin key revoke", { id: keyId })).lines).toEqual([
      `Revoked ${keyId}.`,
    ]);
    await expect(operator("admin agents enable", agentId)).rejects.toThrow(
      `is of ${id}, which is disabled: enable that first`,
    );

    await operator("admin accounts enable", { id });
    expect(await statusOf(bearer(token))).toBe(401);
    expect(await statusOf({ "x-api-key": key })).toBe(401);
    await operator("admin agents enable", agentId);
    expect(await statusOf(bearer(token))).toBe(200);
  });

  it("stays disabled while it is forgotten, even if that is interrupted", async () => {
    const person = testService.person();
    const { token } = await claimedAgent(testService, person);
    const id = await accountOf(person);
    await operator("admin accounts disable", { id });
    let left = 1;
    const dying: Records = {
      ...records,
      async commit(operations) {
        left -= 1;
        if (left < 0) throw new Error("killed");
        return records.commit(operations);
      },
    };
    const forgetting = { now: () => clock.now, counted: { accounts } };
    await expect(forgetEmail({ records: dying, ...forgetting }, person.email)).rejects.toThrow(
      "killed",
    );
    expect(await statusOf(bearer(token))).toBe(401);
    expect((await person.signIn()).html).toContain("has disabled this account");
    expect(await forgetEmail({ records, ...forgetting }, person.email)).toEqual({
      ...{ accounts: 1, agents: 0 },
    });
  });

  it("can be forgotten, with all that was set aside", async () => {
    const person = testService.person();
    await claimedAgent(testService, person);
    const id = await accountOf(person);
    await operator("admin accounts disable", { id });
    await forgetEmail({ records, now: () => clock.now, counted: {} }, person.email);
    const left = await records.list(setAsideRecords, { limit: 1_000 });
    expect(JSON.stringify(left)).not.toContain(id);
    await expect(operator("admin accounts enable", { id })).rejects.toThrow("There is no account");
  });
});

describe("an alert that the operator disables", () => {
  it("is gone for its owner until it is enabled", async () => {
    const { token } = await claimedAgent(testService, testService.person());
    const id = await makeAlert(testService, bearer(token), { label: "Mine" });
    const status = async () => (await getWith(token, `${base}/api/alerts/${id}`)).status;
    await operator("admin alerts disable", { id });
    expect(await status()).toBe(404);
    const [listed] = rowsOf(await operator("admin alerts list", { disabled: true }), "alerts");
    expect(listed).toMatchObject({ id, label: "Mine", by: "poll" });
    await operator("admin alerts enable", { id });
    expect(await status()).toBe(200);
  });

  it("keeps its watchlist, which its owner cannot delete meanwhile", async () => {
    const { token } = await claimedAgent(testService, testService.person());
    await setList(token, "Mine");
    const wanted = { symbols: undefined, watchlist: "Mine" };
    const id = await makeAlert(testService, bearer(token), wanted);
    const path = `${base}/api/watchlists/Mine`;
    const deletion = async () => {
      const answer = await fetch(path, { method: "DELETE", headers: bearer(token) });
      return { status: answer.status, text: await answer.text() };
    };
    await operator("admin alerts disable", { id });
    const refused = await deletion();
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("An alert that the operator of this service has disabled");
    expect(refused.text).toContain("POST /api/contact");
    await operator("admin alerts enable", { id });
    expect((await getWith(token, `${base}/api/alerts/${id}`)).status).toBe(200);
    expect((await deletion()).text).toContain("1 of the alerts watch it");
  });
});

describe("the lists of an operator", () => {
  it("begin with the newest, keep to their limit, filter, and show no secret", async () => {
    const agents = [
      await register(base, { client_name: "One" }),
      await register(base, { client_name: "Two" }),
    ];
    await newToken(base);
    const all = await operator("admin agents list", { limit: "1", claimed: "no" });
    expect(rowsOf(all, "agents")).toHaveLength(1);
    expect(all.notes).toEqual([expect.stringMatching(/^The newest 1 of \d+; --limit shows more/)]);
    const [{ network } = { network: "" }] = rowsOf(all, "agents");
    const near = rowsOf(await operator("admin agents list", { network, since: "1h" }), "agents");
    expect(near.map(({ name }) => name)).toEqual(expect.arrayContaining(["One", "Two"]));
    expect(rowsOf(await operator("admin agents list", { network: "none" }), "agents")).toEqual([]);
    const said = JSON.stringify([near, (await operator("admin agents list", {})).lines]);
    for (const { client_secret, registration_access_token } of agents) {
      expect(said).not.toContain(client_secret);
      expect(said).not.toContain(registration_access_token);
    }
    expect(said).not.toContain("client_secret");
  });

  it("show the audit log of a period, by action and by id", async () => {
    const { agent } = await claimedAgent(testService, testService.person());
    const rows = rowsOf(
      await operator("admin audit", { since: "1h", id: agent.client_id }),
      "rows",
    );
    expect(rows).not.toEqual([]);
    const later = new Date(clock.now.getTime() + 1).toISOString();
    expect(rowsOf(await operator("admin audit", { since: later }), "rows")).toEqual([]);
    const only = rowsOf(await operator("admin audit", { action: "account.", limit: "3" }), "rows");
    expect(only).toHaveLength(3);
    for (const { action } of only) expect(action).toMatch(/^account\./);
  });
});
