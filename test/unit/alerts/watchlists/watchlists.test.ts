import { describe, expect, it } from "vitest";
import type { Caller } from "../../../../src/access/caller.ts";
import { accountAlertsGroup } from "../../../../src/alerts/alert.ts";
import { AlertService } from "../../../../src/alerts/api/alert-service.ts";
import { watchlists } from "../../../../src/alerts/watchlists/watchlist.ts";
import {
  type WatchlistChangeKind,
  WatchlistService,
} from "../../../../src/alerts/watchlists/watchlists.ts";
import { accountRecordsGroup, clientGroup } from "../../../../src/principals/agents/agent.ts";
import { removeGroup } from "../../../../src/store/port/operations.ts";
import type { Records } from "../../../../src/store/port/records.ts";
import {
  ALERT_WITH_POLLING,
  alertDependencies,
  auditEntriesIn,
  createTestAlert,
  newAgent,
  newKeyHolder,
  newPerson,
} from "../../../support/alert-service.ts";
import { embedded, openStore, slowRecords } from "../../../support/stores.ts";

/** The watchlists and alerts of a person with an application, an agent and an API key. */
async function open(seenAs = (records: Records) => records) {
  const store = await openStore(embedded);
  const dependencies = alertDependencies({ ...store, records: seenAs(store.records) });
  const lists = new WatchlistService(dependencies);
  const { records } = store;
  const app = await newPerson(records, "acc_1");
  const agent = await newAgent(records, "agent-1", "acc_1");
  const key = await newKeyHolder(records, "key-1", "acc_1");
  const save = (by: Caller, name: string, symbols: string[], change: WatchlistChangeKind = "set") =>
    lists.save(by, { name, change, symbols });
  /** Registers an alert on a watchlist. */
  const watch = async (by: Caller, name: string) => {
    const list = await lists.find(by, name);
    const watched = { by: "watchlist", key: list.key, name } as const;
    return createTestAlert(new AlertService(dependencies), by, { ...ALERT_WITH_POLLING, watched });
  };
  const alerts = new AlertService(dependencies);
  return { ...store, lists, alerts, app, agent, key, save, watch };
}

describe("a watchlist", () => {
  it("is limited to between 1 and 100 symbols", async () => {
    const { app, save } = await open();
    const some = (count: number, prefix: string) =>
      Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    await save(app, "full", some(100, "A"));
    await expect(save(app, "full", ["B"], "add")).rejects.toMatchObject({
      code: "invalid_request",
      detail: expect.stringContaining("1 to 100 symbols; this one would have 101"),
    });
    await expect(save(app, "full", some(100, "A"), "remove")).rejects.toMatchObject({
      code: "invalid_request",
    });
    await expect(save(app, "none", ["A"], "remove")).rejects.toMatchObject({ code: "not_found" });
  });

  it("is deleted with its client, or with the account if the account owns it", async () => {
    const { app, agent, key, save, records } = await open();
    for (const by of [app, agent, key]) await save(by, by.kind, ["A"]);
    const left = async () =>
      (await records.list(watchlists, { group: accountAlertsGroup("acc_1"), limit: 9 })).map(
        ({ value }) => value.name,
      );
    await records.commit([removeGroup(clientGroup("agent-1"))]);
    expect((await left()).toSorted()).toEqual(["service", "user"]);
    await records.commit([removeGroup(accountRecordsGroup("acc_1"))]);
    expect(await left()).toEqual([]);
  });

  it("counts toward the limit of 50 per account, of which one application may use half", {
    tags: ["full"],
    timeout: 60_000,
  }, async () => {
    const { app, agent, key, save, lists } = await open(slowRecords);
    const fill = async (by: Caller) => {
      const names = Array.from({ length: 60 }, (_, index) => `list ${index}`);
      const all = await Promise.allSettled(names.map((name) => save(by, name, ["A"])));
      const refused = all.filter(({ status }) => status === "rejected");
      for (const each of refused) expect(each).toMatchObject({ reason: { code: "alert_limit" } });
      return all.length - refused.length;
    };
    expect(await fill(app)).toBe(25);
    expect((await fill(agent)) + (await fill(key))).toBe(25);
    const [first] = (await lists.overview(app)).lists;
    await save(app, first?.name ?? "", ["B"], "add");
  });

  it("cannot be deleted while an alert on it is created", async () => {
    const { app, save, lists, watch, alerts, records } = await open(slowRecords);
    for (let round = 0; round < 10; round += 1) {
      await save(app, "race", ["A"]);
      const [registered, removed] = await Promise.allSettled([
        watch(app, "race"),
        lists.remove(app, "race"),
      ]);
      expect([registered.status, removed.status].toSorted()).toEqual(["fulfilled", "rejected"]);
      if (registered.status === "fulfilled") {
        await alerts.remove({ caller: app, alertId: registered.value.id });
        await lists.remove(app, "race");
      }
    }
    expect(await records.list(watchlists, { limit: 9 })).toEqual([]);
  });

  it("is audited on every change, but its name and symbols are not written to the audit log", async () => {
    const { app, save, lists, records } = await open();
    await save(app, "mine", ["A"]);
    await lists.remove(app, "mine");
    const audited = await auditEntriesIn(records);
    expect(audited.map(({ action, actor }) => [action, actor])).toEqual([
      ["watchlist.changed", "acc_1"],
      ["watchlist.deleted", "acc_1"],
    ]);
    expect(JSON.stringify(audited)).not.toContain("mine");
  });
});
