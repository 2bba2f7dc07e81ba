import { describe, expect, it } from "vitest";
import { EntryVerifier } from "../../../src/log/verify/entry-verifier.ts";
import {
  answeredTrackRecord,
  gradedRunsOf,
  stockFigures,
} from "../../support/answered-track-record.ts";
import { verified } from "../../support/log-source.ts";
import {
  closeOf,
  dataFolder,
  Sessions,
  type SignalLog,
  signalLog,
} from "../../support/signal-log.ts";
import { embedded, openStore } from "../../support/stores.ts";

const SYMBOLS = Array.from({ length: 12 }, (_, at) => `S${String.fromCharCode(65 + at)}`);

/** The instrument with late prices. */
const [LATE] = SYMBOLS as [string];

const settlementsIn = async (log: SignalLog) =>
  (await log.contents()).flatMap((content, index) =>
    content.kind === "settlement" ? [{ index, ...content }] : [],
  );

/** Closes 33 sessions. Prices of the first runs come late. */
async function played(store: Parameters<typeof signalLog>[0]) {
  const sessions = new Sessions();
  sessions.delayPrices(LATE);
  const folder = dataFolder();
  const open = () => signalLog(store, sessions, { folder });
  const log = open();
  const close = (day: number) => sessions.close(day, "stock", SYMBOLS);
  for (let day = 0; day < 33; day++) {
    close(day);
    await log.settle();
  }
  return { log, open, close, market: sessions.market };
}

const look = (log: SignalLog, prices: Sessions["market"]) =>
  verified(log, { prices, trackRecord: () => answeredTrackRecord(log) });

describe("a settlement whose prices are corrected", () => {
  it("is followed by a correction that replaces it in the log and in the track record", async () => {
    const { log, open, close, market } = await played(await openStore(embedded));
    const [wrong, next] = await settlementsIn(log);
    expect([wrong.horizon, next.horizon]).toEqual([5, 5]);
    const before = await look(log, market);
    expect(before.check("outcomes")).toMatchObject({ outcome: "failed", entry: wrong.index + 1 });
    const graded = await gradedRunsOf(log);
    const { ic } = stockFigures(graded);

    close(33);
    // The process ends in the middle of the correction.
    await log.writeUntil("open settlement");
    const again = open();
    await again.settle();
    for (let day = 34; day < 37; day++) {
      close(day);
      await again.settle();
    }
    const corrections = (await settlementsIn(again)).filter(
      ({ corrects }) => corrects !== undefined,
    );
    expect(corrections.map(({ corrects }) => corrects)).toEqual([wrong.index, next.index]);
    const contents = await again.contents();
    const outcomeOf = (settlement: number) => contents[settlement + 1];
    expect(outcomeOf(wrong.index)).toMatchObject({ symbol: LATE, lastPrice: "2026-01-03" });
    expect(outcomeOf(corrections[0].index)).toMatchObject({ symbol: LATE, lastPrice: null });

    // A process that read the track record before the correction reloads the changed figures.
    await graded.reload();
    expect(stockFigures(graded).ic).not.toEqual(ic);
    const after = await look(again, market);
    expect(after.check("settlements")).toMatchObject({
      outcome: "proved",
      detail: expect.stringContaining("2 were corrected"),
    });
    expect(after.outcomes).toMatchObject({ outcomes: "proved", record: "proved" });
  });
});

/** Returns the verifier's check of the settlements in a log with the given entries. */
function judged(contents: readonly object[]) {
  const verifier = new EntryVerifier({ origin: "", sightings: [] });
  for (const content of contents) {
    const sorted = Object.entries(content).sort(([a], [b]) => (a < b ? -1 : 1));
    verifier.add(JSON.stringify(Object.fromEntries(sorted)), () => Buffer.alloc(32));
  }
  return verifier.checks().find(({ name }) => name === "settlements");
}

describe("a forged correction", () => {
  it("is detected, whatever it claims to correct", async () => {
    const { log, close } = await played(await openStore(embedded));
    close(33);
    await log.settle();
    const contents = await log.contents();
    const [wrong, next] = await settlementsIn(log);
    const judge = (forge: (corrects: number) => object) =>
      judged(
        contents.map((content) => {
          const { corrects } = content;
          return corrects === undefined ? content : { ...content, ...forge(corrects) };
        }),
      );
    expect(judge(() => ({}))).toMatchObject({ outcome: "proved" });
    for (const forged of [
      { corrects: next.index },
      { corrects: wrong.index + 1 },
      { corrects: 0 },
      { horizon: 21 },
      { results: 11 },
      { coveredAt: new Date(closeOf(1)).toISOString() },
    ]) {
      expect(
        judge(() => forged),
        JSON.stringify(forged),
      ).toMatchObject({ outcome: "failed" });
    }
  });

  it("is detected if it comes too early, or removes a known price", async () => {
    const { log, close } = await played(await openStore(embedded));
    close(33);
    await log.settle();
    const contents = await log.contents();
    /**
     * Checks the entries before position `before`, followed by a correction of the settlement at
     * position `wrong`.
     */
    const corrected = (before: number, wrong: number, changes: object, outcome: object) => {
      const { results } = contents[wrong];
      const outcomes = contents.slice(wrong + 1, wrong + 1 + results);
      return judged([
        ...contents.slice(0, before),
        { ...contents[wrong], ...changes, corrects: wrong },
        ...outcomes.map((one) => ({ ...one, ...outcome, settlement: before })),
      ]);
    };
    const [first] = await settlementsIn(log);
    const lastRun = contents.findLastIndex(({ kind }) => kind === "run");
    expect(corrected(lastRun, first.index, {}, {})).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("before it is looked at again"),
    });
    const longer = contents.findIndex(({ horizon }) => horizon === 21);
    const end = contents.length;
    expect(corrected(end, longer, {}, {})).toMatchObject({ outcome: "proved" });
    const none = { status: "unsettled", followed: undefined, fromClose: undefined };
    expect(
      corrected(end, longer, { entry: null, exit: null }, { ...none, lastPrice: undefined }),
    ).toMatchObject({ outcome: "failed", detail: expect.stringContaining("without prices") });
  });
});
