import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { openKeyring } from "../../../src/keys/keyring.ts";
import { startMaintenance } from "../../../src/maintenance/maintenance.ts";
import { describeEngines, openStore, type TestStore } from "../../support/stores.ts";

const masterKey = randomBytes(32);

/** Starts a process that counts the rounds of its work. Two ticks of each round find work. */
async function start({ records, archive, clock }: TestStore) {
  const now = () => clock.now;
  const keyring = await openKeyring({ records, masterKey, now });
  const done = { ticks: 0 };
  const maintenance = startMaintenance({
    ...{ store: { engine: "postgres", records, archive }, keyring, now },
    leaderJobs: [{ tick: async () => ++done.ticks % 3, everyMs: 5 }],
    onError: () => {},
  });
  onTestFinished(() => maintenance.stop());
  return { maintenance, done };
}

describeEngines("a leader job", (engine) => {
  it("is run repeatedly by the leader, and by the next leader once the first leader has stopped", async () => {
    const store = await openStore(engine);
    const first = await start(store);
    await vi.waitUntil(() => first.done.ticks > 7, { timeout: 2_500 });
    const second = await start(engine.isShared ? await store.openBeside() : store);
    const before = first.done.ticks;
    await vi.waitUntil(() => first.done.ticks > before + 7, { timeout: 2_500 });
    expect(second.done.ticks).toBe(0);

    await first.maintenance.stop();
    const { ticks } = first.done;
    await vi.waitUntil(() => second.done.ticks > 7, { timeout: 2_500 });
    expect(first.done.ticks).toBe(ticks);
  });
});
