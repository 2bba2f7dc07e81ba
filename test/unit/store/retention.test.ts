import pino from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { ATTEMPT_ARCHIVE_KIND, EVENT_ARCHIVE_KIND } from "../../../src/alerts/delivery/delivery.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { openPersistentState } from "../../../src/state.ts";
import { temporaryFolder } from "../../support/process.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

it("the service keeps events and delivery attempts for 30 days, and other rows indefinitely", async () => {
  const state = await openPersistentState({
    choice: { folder: temporaryFolder(), databaseUrl: undefined, masterKey: undefined },
    mode: "sandbox",
    now: () => NOW,
    log: pino({ level: "silent" }),
  });
  onTestFinished(() => state.close());
  const { archive } = state.store;
  const kinds = [EVENT_ARCHIVE_KIND, ATTEMPT_ARCHIVE_KIND, "snapshot"];
  await archive.append(
    kinds.flatMap((kind) => [
      { kind, at: NOW - 30 * DAY_MS - 1, id: "old", body: {} },
      { kind, at: NOW - 30 * DAY_MS, id: "kept", body: {} },
    ]),
  );
  const left = async () => {
    const rows = kinds.map((kind) => archive.read(kind, { order: "oldest", limit: 9 }));
    return (await Promise.all(rows)).map((of) => of.map(({ id }) => id));
  };
  state.startMaintenance([]);
  const kept = [["kept"], ["kept"], ["old", "kept"]];
  await vi.waitFor(async () => expect(await left()).toEqual(kept), { timeout: 10_000 });
});
