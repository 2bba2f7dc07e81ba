import { setImmediate as settled } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  announceChanges,
  NOTICE_TTL_MS,
  noticeRecords,
  noticeTtlMs,
  openChangeReader,
  startChangeReading,
} from "../../src/ingest/change-notices.ts";
import { persistObservations } from "../../src/ingest/persist.ts";
import type { Observation } from "../../src/sources/live/provider.ts";
import { coinBarKnownAt } from "../../src/sources/live/publication-times.ts";
import type { ReceivedObservation } from "../../src/sources/live/record-book.ts";
import type { Store } from "../../src/store/port/store.ts";
import { transact } from "../../src/store/transact.ts";
import { coinDay, utcDays } from "../support/providers/coins.ts";
import { stepsOf } from "../support/steps-of.ts";
import { describeEngines, model, openStore, START } from "../support/stores.ts";

const GIVEN = { provider: "test", observedAt: START };

const daysOf = (symbol: string, from: string, to: string): readonly Observation[] =>
  utcDays(from, to).map((session) => ({
    ...{ feed: "bars", symbol, at: Date.parse(session), id: session },
    record: {
      ...{ session, availableAt: coinBarKnownAt(session), dividend: 0, split: 1 },
      ...coinDay(symbol, session),
    },
  }));

/** A reader of the rows that another process writes. */
async function following(
  { records, archive, clock }: Awaited<ReturnType<typeof openStore>>,
  read: Store["archive"]["read"] = archive.read,
  onOtherTime: (ms: number) => void = () => {},
) {
  const taken: string[] = [];
  let times = 0;
  const take = (observed: readonly ReceivedObservation[]) => {
    for (const { symbol, id } of observed) taken.push(`${symbol} ${id}`);
  };
  const readOn = await openChangeReader({
    store: { records, archive: { ...archive, read } },
    ...{ now: () => clock.now, market: { take }, onOtherTime },
    takeAll: async () => void times++,
  });
  return {
    ...{ taken, readOn, timesOfAll: () => times },
    /** Writes rows as the other process does, but without sending a notification. */
    async tell(data: readonly Observation[]) {
      const { announce } = await persistObservations({ data }, GIVEN, { archive });
      await records.commit(stepsOf(announce).filter(({ kind }) => kind !== "announce"));
    },
  };
}

describeEngines("a row that another process wrote", (engine) => {
  it("is found without a notification, however old the row is", async () => {
    const { tell, readOn, taken } = await following(await openStore(engine));
    await tell(daysOf("BTC-USD", "2025-01-01", "2025-01-03"));
    await tell(daysOf("ETH-USD", "2024-12-31", "2024-12-31"));
    expect(await readOn()).toBe(2);
    expect(taken.toSorted()).toEqual([
      ...["BTC-USD 2025-01-01", "BTC-USD 2025-01-02", "BTC-USD 2025-01-03"],
      "ETH-USD 2024-12-31",
    ]);
    expect(await readOn()).toBe(0);
  });
});

it("a reader rereads all rows if it was disconnected for longer than the lifetime of a notice", async () => {
  const store = await openStore(model);
  const { readOn, timesOfAll } = await following(store);
  await readOn();
  expect(timesOfAll()).toBe(1);
  store.clock.now += NOTICE_TTL_MS;
  await readOn();
  await readOn();
  expect(timesOfAll()).toBe(2);
});

it("a reader whose clock differs by an hour from that of the announcing process logs the difference at most once an hour", async () => {
  const store = await openStore(model);
  const said: number[] = [];
  const { tell, readOn } = await following(store, store.archive.read, (ms) => said.push(ms));
  for (const [day, minutes] of [25, 45, 60, 61, 85, 110, 121].entries()) {
    await tell(daysOf("BTC-USD", `2025-01-0${day + 1}`, `2025-01-0${day + 1}`));
    store.clock.now = START + minutes * 60_000;
    await readOn();
  }
  expect(said).toEqual([61 * 60_000, 121 * 60_000]);
});

it("notices are stored for less than five minutes when a single process reads them", async () => {
  const keptIn = async (engine: Store["engine"] | undefined) => {
    const { records, archive, clock } = await openStore(model);
    const options = { archive, noticeTtlMs: noticeTtlMs(engine) };
    const data = daysOf("BTC-USD", "2025-01-01", "2025-01-01");
    await transact(records, (await persistObservations({ data }, GIVEN, options)).announce);
    clock.now += 300_000;
    return (await records.list(noticeRecords, { limit: 9 })).length;
  };
  expect([await keptIn("embedded"), await keptIn("postgres"), await keptIn(undefined)]).toEqual([
    0, 1, 1,
  ]);
});

it("a notice is processed again when reading its rows failed", async () => {
  const store = await openStore(model);
  let isDown = true;
  const read: Store["archive"]["read"] = async (kind, selection) => {
    if (isDown) throw new Error("down");
    return store.archive.read(kind, selection);
  };
  const { tell, readOn, taken } = await following(store, read);
  await tell(daysOf("BTC-USD", "2025-01-01", "2025-01-01"));
  await expect(readOn()).rejects.toThrow("down");
  isDown = false;
  await readOn();
  expect(taken).toEqual(["BTC-USD 2025-01-01"]);
});

it("rows stored by a process that died before announcing them are announced when they are written again", async () => {
  const store = await openStore(model);
  const { tell, readOn, taken } = await following(store);
  const data = daysOf("BTC-USD", "2025-01-01", "2025-01-01");
  await persistObservations({ data }, GIVEN, store);
  await readOn();
  expect(taken).toEqual([]);
  await tell(data);
  await readOn();
  expect(taken).toEqual(["BTC-USD 2025-01-01"]);
});

it("a notification wakes the reader before its next poll is due", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { records } = await openStore(model);
  let looks = 0;
  const looked = Promise.withResolvers<void>();
  const step = async () => {
    if (++looks === 2) looked.resolve();
    return 0;
  };
  const reading = startChangeReading(step, { records, onError: looked.reject });
  await settled();
  expect(looks).toBe(1);
  await records.commit(
    stepsOf(announceChanges, daysOf("BTC-USD", "2025-01-01", "2025-01-01"), {
      observedAt: START,
      ttlMs: NOTICE_TTL_MS,
    }),
  );
  await looked.promise;
  await reading.stop();
});
