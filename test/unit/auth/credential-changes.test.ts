import { describe, expect, it } from "vitest";
import { watchCredentials } from "../../../src/auth/credential-changes.ts";
import { accounts } from "../../../src/principals/accounts/accounts.ts";
import { apiKeys } from "../../../src/principals/keys/api-keys.ts";
import {
  consume,
  insert,
  put,
  remove,
  removeGroup,
  replace,
  requireUnchanged,
} from "../../../src/store/port/operations.ts";
import { collection, type Operation } from "../../../src/store/port/records.ts";
import type { Store } from "../../../src/store/port/store.ts";
import {
  describeEngines,
  dumpStore,
  type Engine,
  embedded,
  inBatches,
  openStore,
} from "../../support/stores.ts";

const tokens = collection<object>("oidc:AccessToken");
const notes = collection<object>("notes");

/** A watched store, and a counter of its announced credential changes. */
function watched(store: Store) {
  const { store: its, onCredentialChange } = watchCredentials(store);
  let told = 0;
  const waiting: (() => void)[] = [];
  const stop = onCredentialChange(() => {
    told++;
    for (const go of waiting.splice(0)) go();
  });
  const next = () => new Promise<void>((resolve) => waiting.push(resolve));
  return { store: its, records: its.records, told: () => told, next, stop };
}

async function open(engine: Engine = embedded) {
  const opened = await openStore(engine);
  const its = watched(opened.store);
  await its.records.commit([insert(tokens, { key: "a", value: {}, groups: ["client:1"] })]);
  return { ...its, openBeside: opened.openBeside };
}

describe("changes of credentials", () => {
  it("are announced before the commit returns, if the commit may have ended a credential", async () => {
    const { records, told } = await open();
    const token = await records.get(tokens, "a");
    const steps: readonly (readonly Operation[])[] = [
      token === undefined ? [] : [replace(tokens, token, { value: { scope: "less" } })],
      [put(accounts, { key: "acc_1", value: { label: "Ann", createdAt: 0 } })],
      [remove(tokens, "none")],
      [remove(apiKeys, "none")],
      [insert(notes, { key: "a", value: {} }), removeGroup("client:1")],
    ];
    for (const step of steps) {
      const before = told();
      expect(await records.commit(step)).toBe(true);
      expect(told()).toBeGreaterThan(before);
    }
    expect(await records.get(tokens, "a")).toBeUndefined();
  });

  it("are not announced for a commit that ends no credential", async () => {
    const { records, told } = await open();
    const before = told();
    const token = await records.get(tokens, "a");
    await records.commit([
      insert(tokens, { key: "b", value: {} }),
      put(notes, { key: "a", value: {} }),
      ...(token === undefined ? [] : [requireUnchanged(tokens, token)]),
    ]);
    await records.commit([remove(notes, "a")]);
    expect(told()).toBe(before);
  });

  it("are announced even if the commit fails with an unknown outcome", async () => {
    const { records, told } = await open();
    const before = told();
    const refused = [remove(tokens, "a"), put(notes, { key: "\0", value: {} })];
    await expect((async () => records.commit(refused))()).rejects.toThrow(RangeError);
    expect(told()).toBeGreaterThan(before);
    expect(await records.commit([remove(tokens, "a"), consume(notes, "none")])).toBe(false);
    expect(await records.get(tokens, "a")).toBeDefined();
  });

  it("are not announced to a listener that was removed", async () => {
    const { records, told, stop } = await open();
    const before = told();
    stop();
    await records.commit([remove(tokens, "a")]);
    expect(told()).toBe(before);
  });

  it("are announced without other changes to the behavior of the store", async () => {
    const opened = await openStore(embedded);
    const { store } = watched(opened.store);
    expect(Object.keys({ ...store }).sort()).toEqual(Object.keys(opened.store).sort());
    await store.records.commit([insert(tokens, { key: "a", value: {} })]);
    const rows = await dumpStore(store);
    expect(rows.length).toBeGreaterThan(0);
    await store.load({ id: "another", mode: "sandbox" }, inBatches(rows, 10));
    expect(store.identity.id).toBe("another");
    expect(await store.records.get(tokens, "a")).toBeDefined();
  });
});

describeEngines("changes of credentials by one process", (engine) => {
  it.skipIf(!engine.isShared)("are announced to other processes", async () => {
    const { records, openBeside } = await open(engine);
    const other = watched((await openBeside()).store);
    const heard = other.next();
    await records.commit([remove(tokens, "a")]);
    await heard;
    expect(await other.records.get(tokens, "a")).toBeUndefined();
  });
});
