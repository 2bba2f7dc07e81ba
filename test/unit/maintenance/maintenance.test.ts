import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { keyUses } from "../../../src/keys/key-uses.ts";
import { openKeyring } from "../../../src/keys/keyring.ts";
import { startMaintenance } from "../../../src/maintenance/maintenance.ts";
import { writeAuditEntry } from "../../../src/store/audit-entry.ts";
import type { Store } from "../../../src/store/port/store.ts";
import { auditOf } from "../../support/audit.ts";
import { stepsOf } from "../../support/steps-of.ts";
import { describeEngines, type Engine, openStore, type TestStore } from "../../support/stores.ts";

/**
 * Timeout in milliseconds. It is shorter than a lease (7 s) and than the pause between reloads of
 * the keyring (60 s), so that a test passes only if it need not wait for either.
 */
const AT_ONCE = { timeout: 2_500 };

/** Number of keys that a new keyring creates, each with an audit row. */
const KEYS_MADE = Object.keys(keyUses).length;

const masterKey = randomBytes(32);
const entry = { action: "tested", actor: "system", target: "a row" };

/** Starts the maintenance in one process of a service. */
async function start(of: TestStore, engine: Store["engine"]) {
  const { records, archive } = of;
  const now = () => of.clock.now;
  const errors: unknown[] = [];
  const keyring = await openKeyring({ records, masterKey, now });
  const maintenance = startMaintenance({
    ...{ store: { engine, records, archive }, keyring, now },
    onError: (error) => void errors.push(error),
  });
  onTestFinished(() => maintenance.stop());
  return { keyring, maintenance, errors, leads: () => maintenance.leadership.isHeld() };
}

async function twoProcesses(engine: Engine) {
  const store = await openStore(engine);
  const beside = engine.isShared ? await store.openBeside() : store;
  const processes = [await start(store, "postgres"), await start(beside, "postgres")] as const;
  await vi.waitUntil(() => processes.some(({ leads }) => leads()), AT_ONCE);
  const [leader, other] = processes[0].leads() ? processes : processes.toReversed();
  if (leader === undefined || other === undefined) throw new Error("there are two");
  return { store, leader, other };
}

const record = (store: TestStore) =>
  store.records.commit(stepsOf(writeAuditEntry, entry, store.clock.now));

describeEngines("the maintenance of a store", (engine) => {
  it("seals rows that were recorded before and after the start", async () => {
    const store = await openStore(engine);
    const { maintenance, errors } = await start(store, "embedded");
    const sealed = (rows: number) =>
      vi.waitUntil(async () => (await auditOf(store)).rows === rows, AT_ONCE);
    await sealed(KEYS_MADE);
    await record(store);
    await sealed(KEYS_MADE + 1);
    expect(await auditOf(store)).toMatchObject({ unsealed: 0, problems: [] });
    await maintenance.stop();
    expect(errors).toEqual([]);
  });

  it("does nothing after it is stopped", async () => {
    const store = await openStore(engine);
    const { maintenance, leads } = await start(store, "embedded");
    await vi.waitUntil(leads, AT_ONCE);
    await maintenance.stop();
    expect(leads()).toBe(false);
    await record(store);
    const told = new Promise((resolve) => store.records.onAnnounce("audit", resolve));
    await record(store);
    await told;
    expect((await auditOf(store)).unsealed).toBeGreaterThanOrEqual(2);
  });

  it("is led immediately by a restarted process of an embedded store", async () => {
    const store = await openStore(engine);
    await vi.waitUntil((await start(store, "embedded")).leads, AT_ONCE);
    const again = await start(store, "embedded");
    await vi.waitUntil(again.leads, AT_ONCE);
  });

  it("is led by one of several processes, and by another process once the leader has stopped", async () => {
    const { leader, other } = await twoProcesses(engine);
    expect([leader.leads(), other.leads()]).toEqual([true, false]);
    await leader.maintenance.stop();
    await vi.waitUntil(other.leads, AT_ONCE);
    expect([...leader.errors, ...other.errors]).toEqual([]);
  });

  it("loads the keys created by one process into every other process", async () => {
    const { leader, other } = await twoProcesses(engine);
    const kid = await other.keyring.rotate("cookie-signing", { actor: "operator" });
    const newest = () => leader.keyring.keys("cookie-signing")[0].kid;
    await vi.waitUntil(() => newest() === kid, AT_ONCE);
  });
});
