import pino from "pino";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ATTEMPT_ARCHIVE_KIND, EVENT_ARCHIVE_KIND } from "../../../src/alerts/delivery/delivery.ts";
import { archiveKindOf, REJECTED_ARCHIVE_KIND } from "../../../src/ingest/market-rows.ts";
import { DAY_MS } from "../../../src/lib/day.ts";
import { FEEDS } from "../../../src/market/records.ts";
import { openPersistentState } from "../../../src/state.ts";
import type { StoreMode } from "../../../src/store/port/store.ts";
import { temporaryFolder } from "../../support/process.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

/**
 * Runs the maintenance of a service on rows of some kinds, each of these ages in milliseconds.
 * @returns A function that returns the kind and age of the rows that are left.
 */
async function maintained(
  { mode, now = NOW }: { readonly mode: StoreMode; readonly now?: number },
  kinds: readonly string[],
  ages: readonly number[],
) {
  const state = await openPersistentState({
    choice: { folder: temporaryFolder(), databaseUrl: undefined, masterKey: undefined },
    ...{ mode, now: () => now, log: pino({ level: "silent" }) },
  });
  onTestFinished(() => state.close());
  const { archive } = state.store;
  await archive.append(
    kinds.flatMap((kind) =>
      ages.map((age) => ({ kind, at: NOW - age, id: String(age), body: {} })),
    ),
  );
  state.startMaintenance([]);
  return async () => {
    const read = kinds.map((kind) => archive.read(kind, { order: "newest", limit: 10 }));
    return (await Promise.all(read)).flat().map(({ kind, id }) => `${kind} ${id}`);
  };
}

const waitUntil = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 10_000 });

describe("maintenance", () => {
  it("keeps events and delivery attempts for 30 days, and other rows indefinitely", async () => {
    const sent = [EVENT_ARCHIVE_KIND, ATTEMPT_ARCHIVE_KIND];
    const [young, old] = [30 * DAY_MS, 30 * DAY_MS + 1];
    const left = await maintained({ mode: "sandbox" }, [...sent, "snapshot"], [young, old]);
    const kept = [...sent, "snapshot"].map((kind) => `${kind} ${young}`);
    await waitUntil(async () => expect(await left()).toEqual([...kept, `snapshot ${old}`]));
  });

  it.each([
    ["an accurate clock", NOW],
    ["a clock that is a year ahead", NOW + 365 * DAY_MS],
  ])(
    "deletes messages, prints and quarantined records 400 days before the newest, with %s",
    async (_, now) => {
      const others = ["bars", "fundamentals", "shortVolumes", "weeklyVolumes", "onChain"] as const;
      const stay = others.map(archiveKindOf);
      const kinds = [...FEEDS.map(archiveKindOf), REJECTED_ARCHIVE_KIND];
      const [young, old] = [399 * DAY_MS, 401 * DAY_MS];
      const left = await maintained({ mode: "live", now }, kinds, [0, young, old]);
      const kept = kinds.flatMap((kind) =>
        [0, young, ...(stay.includes(kind) ? [old] : [])].map((age) => `${kind} ${age}`),
      );
      await waitUntil(async () => expect(await left()).toEqual(kept));
    },
  );
});
