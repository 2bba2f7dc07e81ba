// @module-tag full

import pino from "pino";
import { expect, it, onTestFinished, vi } from "vitest";
import { archiveKindOf, REJECTED_ARCHIVE_KIND } from "../../src/ingest/market-rows.ts";
import { DAY_MS } from "../../src/lib/day.ts";
import { FEEDS } from "../../src/market/records.ts";
import { openPersistentState } from "../../src/state.ts";
import { temporaryFolder } from "../support/process.ts";

const NOW = Date.UTC(2026, 10, 21, 12);

it.each([
  ["an accurate clock", NOW],
  ["a clock that is a year ahead", NOW + 365 * DAY_MS],
])(
  "messages, prints and quarantined records expire when they are 400 days older than the newest record, with %s",
  async (_, now) => {
    const state = await openPersistentState({
      choice: { folder: temporaryFolder(), databaseUrl: undefined, masterKey: undefined },
      ...{ mode: "live", now: () => now, log: pino({ level: "silent" }) },
    });
    onTestFinished(() => state.close());
    const { archive } = state.store;
    const kinds = [...FEEDS.map(archiveKindOf), REJECTED_ARCHIVE_KIND];
    const rows = kinds.flatMap((kind) =>
      [0, 399, 401].map((days) => ({ kind, at: NOW - days * DAY_MS, id: String(days), body: {} })),
    );
    await archive.append(rows);
    state.startMaintenance([]);
    const left = async () => {
      const read = kinds.map((kind) => archive.read(kind, { order: "oldest", limit: 10 }));
      return (await Promise.all(read)).flat().filter(({ id }) => id === "401");
    };
    await vi.waitFor(async () => {
      const stay = ["bars", "fundamentals", "shortVolumes", "weeklyVolumes", "onChain"] as const;
      expect((await left()).map(({ kind }) => kind)).toEqual(stay.map(archiveKindOf));
    });
    for (const kind of kinds) {
      const ids = (await archive.read(kind, { order: "newest", limit: 10 })).map(({ id }) => id);
      expect(ids.slice(0, 2)).toEqual(["0", "399"]);
    }
  },
);
