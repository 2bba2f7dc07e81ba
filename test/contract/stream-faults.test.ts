import { createServer, type RequestListener } from "node:http";
import { setImmediate as settled } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { archiveKindOf, type ObservationBody } from "../../src/ingest/market-rows.ts";
import { providerProgress, seriesKey, seriesProgress } from "../../src/ingest/provider-progress.ts";
import { createStreamListener, type StreamListener } from "../../src/ingest/stream-listener.ts";
import { jetstream } from "../../src/sources/live/providers/jetstream.ts";
import { contentOf, rejectedObservationsIn } from "../support/providers/follow.ts";
import {
  type LocalJetstream,
  postEvent,
  type StreamedEvent,
  serveJetstream,
} from "../support/providers/jetstream.ts";
import { RIG_INSTRUMENTS } from "../support/providers/rigs.ts";
import { model, openStore, PATIENT, START, type TestStore } from "../support/stores.ts";

const MINUTE_MS = 60_000;

/** Longer than any pause after two faults, in milliseconds. */
const PAUSE_MS = 5 * MINUTE_MS;

const options = {
  instruments: RIG_INSTRUMENTS,
  feeds: new Set(["mentions"] as const),
  historyFrom: START,
  settings: {},
};

let store: TestStore;
let server: LocalJetstream;
let listener: StreamListener;
beforeEach(async () => {
  store = await openStore(model);
  server = await serveJetstream();
  listener = startListener(server.origin);
  onTestFinished(server.close);
});

function startListener(origin: string): StreamListener {
  const { records, archive, clock } = store;
  const now = () => clock.now;
  const started = createStreamListener({
    ...{ provider: jetstream, options, origin, records, archive, now, random: () => 0.5 },
  });
  onTestFinished(started.close);
  return started;
}

/** A post about Apple this many seconds after the start. */
const post = (second: number): StreamedEvent =>
  postEvent({ text: `$AAPL at ${second}`, at: START + second * 1_000, rkey: `r${second}` });

/** Runs the listener until a condition holds. */
async function until(isSo: () => Promise<boolean> | boolean, on: StreamListener = listener) {
  do {
    await on.step();
    await settled();
  } while (!(await isSo()));
}

const texts = async () =>
  (await contentOf(store, ["mentions"])).map(({ record }) => (record as { text: string }).text);
const written = (count: number) => async () => (await texts()).length === count;
const progress = async () => (await store.records.get(providerProgress, "jetstream"))?.value;
const isFaulty = async () => ((await progress())?.failures ?? 0) > 0;

/** Runs the listener until the server has received this many connections. */
async function connected(visits = 1) {
  await until(() => server.visits.length === visits);
}

/** Stores a first post, so that there is a cursor to resume from. */
async function following() {
  await connected();
  server.tell(post(0));
  await until(written(1));
}

/** Expects the listener to reconnect after the pause and to read on. */
async function expectRecovery() {
  const { at = 0 } = (await progress())?.lastFault ?? {};
  expect(await listener.step()).toBe(0);
  store.clock.now = at + PAUSE_MS;
  await connected(2);
  server.tell(post(240));
  await until(async () => (await texts()).includes("$AAPL at 240"));
  expect(await progress()).toMatchObject({ failures: 0 });
}

describe("a stream that disconnects", PATIENT, () => {
  it("resumes at its cursor, and stores repeated messages once", async () => {
    await following();
    server.tell(post(60));
    await until(written(2));
    server.breakOff();
    await until(isFaulty);
    expect((await progress())?.lastFault).toMatchObject({
      kind: "unreachable",
      text: "it was closed with 1006",
    });
    server.tell(post(120));
    await expectRecovery();
    const [first, second] = server.visits.map(({ searchParams }) => searchParams.get("cursor"));
    expect([first, second]).toEqual([null, String((START + 55_000) * 1_000)]);
    expect(await texts()).toEqual([0, 60, 120, 240].map((at) => `$AAPL at ${at}`));
  });

  it("can be resumed by another process", async () => {
    await following();
    listener.close();
    server.tell(post(30));
    store.clock.now += MINUTE_MS;
    const next = startListener(server.origin);
    await until(written(2), next);
    expect(await texts()).toEqual(["$AAPL at 0", "$AAPL at 30"]);
  });

  it("loses nothing when its process dies before the cursor is saved", async () => {
    await connected();
    const { commit } = store.records;
    store.records.commit = () => Promise.reject(new Error("killed"));
    server.tell(post(0));
    server.tell(post(1));
    await expect(until(() => false)).rejects.toThrow("killed");
    listener.close();
    store.records.commit = commit;
    expect(
      (await store.records.get(seriesProgress, seriesKey("jetstream", "stream")))?.value,
    ).toBeUndefined();
    const next = startListener(server.origin);
    await until(() => server.visits.length === 2, next);
    server.tell(post(2));
    await until(written(3), next);
    expect(await texts()).toEqual([0, 1, 2].map((at) => `$AAPL at ${at}`));
  });
});

describe("a stream whose messages cannot be stored", PATIENT, () => {
  it.each(["append", "commit"] as const)(
    "receives the messages again when %s fails",
    async (what) => {
      await following();
      const { append } = store.archive;
      const { commit } = store.records;
      const broken = () => Promise.reject(new Error("no space left"));
      if (what === "append") store.archive.append = broken;
      else store.records.commit = broken;
      server.tell(post(10));
      await expect(until(() => false)).rejects.toThrow("no space left");
      // The listener pauses and does not connect.
      await listener.step();
      expect(server.visits).toHaveLength(1);
      if (what === "append") {
        expect((await progress())?.lastFault).toMatchObject({
          kind: "unkept",
          text: expect.stringContaining("no space left"),
        });
      }
      store.archive.append = append;
      store.records.commit = commit;
      server.tell(post(20));
      store.clock.now += PAUSE_MS;
      await until(written(3));
      expect(await texts()).toEqual([0, 10, 20].map((at) => `$AAPL at ${at}`));
      expect(await progress()).toMatchObject({ failures: 0 });
    },
  );

  it("resumes at the failed message even if the clock is set back by a year in the meantime", async () => {
    await following();
    server.breakOff();
    await until(isFaulty);
    store.clock.now -= 365 * 86_400_000;
    await connected(2);
  });
});

describe("a stream with a fault", PATIENT, () => {
  it("skips a message that cannot be parsed when the stream repeats it", async () => {
    await following();
    server.tell({ ...post(10), kind: 7 as never });
    await until(isFaulty);
    store.clock.now += PAUSE_MS;
    await connected(2);
    server.tell(post(310));
    await until(written(2));
    server.tell(post(320));
    await until(written(3));
    expect(server.visits).toHaveLength(2);
    expect(await progress()).toMatchObject({ failures: 0, lastFault: { kind: "malformed" } });
  });

  it.each([
    ["a message that is not JSON", "<html>", "malformed", /^not JSON: "<html>"$/],
    ["JSON of another schema", '{"unexpected":true}', "malformed", /^did: /],
    ["a truncated message", JSON.stringify(post(1)).slice(0, 50), "malformed", /^not JSON/],
    [
      "a message that is too large",
      "x".repeat(300_000),
      "unreachable",
      /^Max payload size exceeded$/,
    ],
  ])("pauses for a while, and then resumes, after %s", async (_, text, kind, said) => {
    await following();
    server.sendRaw(text);
    await until(isFaulty);
    expect((await progress())?.lastFault).toMatchObject({
      kind,
      text: expect.stringMatching(said),
    });
    await expectRecovery();
    expect(await texts()).toEqual(["$AAPL at 0", "$AAPL at 240"]);
  });

  it("is considered dead after a minute of silence", async () => {
    await following();
    for (let second = 0; second < 65; second += 5) {
      store.clock.now += 5_000;
      await listener.step();
    }
    expect((await progress())?.lastFault?.text).toBe("nothing came for a minute");
    await expectRecovery();
  });

  it("is disconnected when messages arrive faster than they can be stored, and no message is lost", async () => {
    // More than twice the size of the queue, so that the queue overflows again after its first part is
    // stored.
    const many = Array.from({ length: 10_100 }, (_, second) => post(second));
    const full = await serveJetstream(many);
    onTestFinished(full.close);
    await following();
    listener.close();
    const { append } = store.archive;
    store.archive.append = async (rows) => {
      store.archive.append = append;
      // All messages arrive while the first ones are being written.
      await vi.waitFor(() => expect(full.open()).toBe(0), { timeout: 10_000 });
      return append(rows);
    };
    const slow = startListener(full.origin);
    store.clock.now += 10_101_000;
    await until(async () => {
      store.clock.now = Math.max(store.clock.now, (await progress())?.openUntil ?? 0);
      return (await texts()).length === many.length;
    }, slow);
    expect((await progress())?.lastFault?.text).toBe("more came than could be written");
  });

  it("rejects a message dated in the future, whatever date its author claims", async () => {
    await following();
    const years = ["2026-11-22", "3000-01-15", "9999-12-31", "1000-01-01", "+012026-11-21"];
    for (const [second, day] of years.entries()) {
      const at = START + second * 1_000;
      const said = { text: "$AAPL", at, rkey: `x${second}`, createdAt: `${day}T12:00:00.000Z` };
      server.tell(postEvent(said));
    }
    server.tell(post(60));
    await until(written(2));
    expect(await texts()).toEqual(["$AAPL at 0", "$AAPL at 60"]);
    expect(await rejectedObservationsIn(store)).toEqual([]);
  });
});

describe("a difference between the local clock and a stream's clock", PATIENT, () => {
  /** Starts a listener on a stream whose clock is this many milliseconds behind the local clock. */
  async function listeningTo(behindMs: () => number) {
    const dated = await serveJetstream([], () => store.clock.now - behindMs());
    onTestFinished(dated.close);
    return { dated, on: startListener(dated.origin) };
  }

  it.each([3_600_000, -11 * MINUTE_MS])(
    "stops storage while the local clock is %d ms ahead",
    async (aheadMs) => {
      let ahead = aheadMs;
      const { dated, on } = await listeningTo(() => ahead);
      await until(isFaulty, on);
      expect((await progress())?.lastFault).toMatchObject({
        kind: "clock",
        text: expect.stringMatching(/^its clock says .* is the clock of this machine right\?$/),
      });
      ahead = 0;
      store.clock.now += 10 * MINUTE_MS;
      await until(() => dated.open() === 1, on);
      dated.tell(post(600));
      await until(written(1), on);
      expect(await progress()).toMatchObject({ failures: 0 });
    },
  );

  it("is tolerated up to a few minutes", async () => {
    const { dated, on } = await listeningTo(() => 9 * MINUTE_MS);
    await until(() => dated.visits.length === 1, on);
    dated.tell(post(0));
    await until(written(1), on);
    expect((await progress())?.lastFault).toBeNull();
  });

  it("loses no message when the local clock is behind, even if the stream sends no time", async () => {
    await following();
    const ahead = post(11 * 60);
    server.tell(ahead);
    await until(isFaulty);
    expect((await progress())?.lastFault).toMatchObject({ kind: "clock" });
    store.clock.now = (await progress())?.openUntil ?? 0;
    await until(async () => (await progress())?.lastFault?.at === store.clock.now);
    store.clock.now = START + 12 * MINUTE_MS;
    await connected(3);
    await until(written(2));
    expect(await texts()).toEqual(["$AAPL at 0", "$AAPL at 660"]);
  });

  it("does not change a message's time when the clock jumps between receipt and write", async () => {
    await following();
    server.tell(post(10));
    await vi.waitFor(() => expect(server.open()).toBe(1));
    for (let turn = 0; turn < 1_000; turn++) await settled();
    store.clock.now += 40 * 86_400_000;
    await until(isFaulty);
    const rows = await store.archive.read(archiveKindOf("mentions"), { order: "newest", limit: 9 });
    const dates = rows.map(({ body }) => (body as ObservationBody).observedAt);
    expect(dates.every((at) => at === START)).toBe(true);
  });
});

describe("a stream that is unavailable", PATIENT, () => {
  async function answering(answer: RequestListener): Promise<string> {
    const http = createServer(answer).listen(0, "127.0.0.1");
    await new Promise((resolve) => http.once("listening", resolve));
    onTestFinished(() => void http.close());
    const address = http.address();
    return `ws://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  }

  it.each<[string, RequestListener, RegExp]>([
    ["the status 500", (_, res) => res.writeHead(500).end(), /^Unexpected server response: 500$/],
    ["an HTML page", (_, res) => res.end("<html>"), /^Unexpected server response: 200$/],
    ["the status 429", (_, res) => res.writeHead(429).end(), /^Unexpected server response: 429$/],
    ["a connection reset", (req) => req.socket.resetAndDestroy(), /ECONNRESET|socket hang up/],
  ])("is retried after increasingly long pauses: %s", async (_, answer, said) => {
    const refusing = startListener(await answering(answer));
    const pauses: number[] = [];
    for (let failures = 1; failures <= 3; failures++) {
      await until(async () => (await progress())?.failures === failures, refusing);
      const { lastFault, openUntil = 0 } = (await progress()) ?? {};
      expect(lastFault).toMatchObject({ kind: "unreachable", text: expect.stringMatching(said) });
      pauses.push(openUntil - store.clock.now);
      store.clock.now = openUntil;
    }
    expect(pauses).toEqual([3_750, 7_500, 15_000]);
  });
});
