import { randomBytes } from "node:crypto";
import { expect, it, onTestFinished, vi } from "vitest";
import { openKeyring } from "../../../src/store/keys/keyring.ts";
import { startUpkeep } from "../../../src/store/maintenance.ts";
import { describeStores, openStore, type TestStore } from "../../support/stores.ts";

const masterKey = randomBytes(32);

/** A process that counts the rounds of its work; two steps of each round find something. */
async function start({ records, archive, clock }: TestStore) {
  const now = () => clock.now;
  const keyring = await openKeyring({ records, masterKey, now });
  const done = { steps: 0 };
  const upkeep = startUpkeep({
    ...{ store: { engine: "postgres", records, archive }, keyring, now },
    leadersWork: [{ step: async () => ++done.steps % 3, everyMs: 5 }],
    onError: () => {},
  });
  onTestFinished(() => upkeep.stop());
  return { upkeep, done };
}

describeStores("the leader's work", (engine) => {
  it("is done by the process that leads, again and again, and by the next when that stops", async () => {
    const store = await openStore(engine);
    const first = await start(store);
    await vi.waitUntil(() => first.done.steps > 7, { timeout: 2_500 });
    const second = await start(engine.isShared ? await store.openBeside() : store);
    const before = first.done.steps;
    await vi.waitUntil(() => first.done.steps > before + 7, { timeout: 2_500 });
    expect(second.done.steps).toBe(0);

    await first.upkeep.stop();
    const { steps } = first.done;
    await vi.waitUntil(() => second.done.steps > 7, { timeout: 2_500 });
    expect(first.done.steps).toBe(steps);
  });
});
