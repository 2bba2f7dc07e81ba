import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { ProviderFault } from "../../../../src/sources/live/fault.ts";
import type { Observation } from "../../../../src/sources/live/provider.ts";
import { jetstream } from "../../../../src/sources/live/providers/jetstream.ts";
import { instrument } from "../../../support/instruments.ts";
import {
  deletionEvent,
  drawnEvents,
  identityEvent,
  type LocalJetstream,
  postEvent,
  serveJetstream,
} from "../../../support/providers/jetstream.ts";

const NOW = Date.parse("2026-11-20T15:00:00Z");

const OPTIONS = {
  instruments: ["AAPL", "MSFT", "BTC-USD"].map(instrument),
  feeds: new Set(["mentions" as const]),
  historyFrom: 0,
  settings: {},
};

/** Returns the parsed event from a reader that has just reported its cursor. */
function readingOf(event: unknown, now = NOW) {
  const read = jetstream.reader(OPTIONS);
  read(JSON.stringify(identityEvent(NOW - 1)), now);
  return read(JSON.stringify(event), now);
}

const POST = { text: "$AAPL and $MSFT look strong, unlike $ZZZ", at: NOW };

const RECORD = { text: POST.text, createdAt: new Date(NOW).toISOString() };

const withRecord = (record: unknown) => changed({ record });

describe("a post on Bluesky", () => {
  it("becomes a mention of each instrument it contains, with a pseudonymous author", () => {
    const reading = readingOf(postEvent({ ...POST, createdAt: "2026-11-20T14:59:58.500Z" }));
    expect(reading?.data.map(({ symbol }) => symbol)).toEqual(["AAPL", "MSFT"]);
    expect(reading?.cursor).toBe(String(NOW * 1_000));
    const [datum] = reading?.data ?? [];
    expect(datum).toEqual({
      feed: "mentions",
      symbol: "AAPL",
      at: NOW - 1_500,
      id: expect.stringMatching(/^bluesky-[0-9a-f]{16}$/),
      record: {
        id: datum?.id,
        availableAt: NOW - 1_500,
        text: POST.text,
        author: expect.stringMatching(/^[0-9a-f]{16}$/),
        followers: null,
        symbolCount: 3,
        stance: null,
      },
    });
    expect(JSON.stringify(reading)).not.toContain("did:");
  });

  it("is identified by its author and key together", () => {
    const idOf = (post: object) => readingOf(postEvent({ ...POST, ...post }))?.data[0]?.id;
    const one = idOf({ did: "did:plc:a", rkey: "1" });
    expect(idOf({ did: "did:plc:a", rkey: "1" })).toBe(one);
    expect(idOf({ did: "did:plc:b", rkey: "1" })).not.toBe(one);
    expect(idOf({ did: "did:plc:a", rkey: "2" })).not.toBe(one);
  });

  it("is used if it is in English or has no language", () => {
    const isRead = (langs: readonly string[] | undefined) =>
      readingOf(withRecord({ ...RECORD, langs })) !== undefined;
    expect([["en"], ["de", "en-GB"], [], undefined].map(isRead)).toEqual([true, true, true, true]);
    expect([["de"], ["eng-x"]].map(isRead)).toEqual([false, false]);
  });

  it("is skipped when it mentions no tracked instrument", () => {
    expect(readingOf(postEvent({ ...POST, text: "All of IT is NOW at AM" }))).toBeUndefined();
  });

  it("is skipped as an import when it was written long before its arrival", () => {
    const createdAt = new Date(NOW - 25 * 3_600_000).toISOString();
    expect(readingOf(postEvent({ ...POST, createdAt }))).toBeUndefined();
  });

  it("is skipped when its date is more than five minutes in the future", () => {
    const createdAt = (ahead: number) => new Date(NOW + ahead).toISOString();
    const days = [createdAt(5 * 60_000 + 1), "3000-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"];
    for (const day of days) {
      expect(readingOf(postEvent({ ...POST, createdAt: day })), day).toBeUndefined();
    }
    const near = readingOf(postEvent({ ...POST, createdAt: createdAt(5 * 60_000) }));
    expect(near?.data.map(({ symbol }) => symbol)).toEqual(["AAPL", "MSFT"]);
  });

  it.each([
    ["no record", undefined],
    ["a number as the record", 7],
    ["a text that is not a string", { text: 7, createdAt: POST.at }],
    ["an invalid time", { text: "$AAPL", createdAt: "yesterday" }],
    ["a date that does not exist", { text: "$AAPL", createdAt: "2026-02-30T00:00:00Z" }],
    [
      "languages that are not an array",
      { text: "$AAPL", createdAt: "2026-11-20T15:00:00Z", langs: "en" },
    ],
  ])("is skipped without interrupting the stream when its client wrote %s", (_, record) => {
    expect(readingOf(withRecord(record))).toBeUndefined();
  });
});

describe("other events of the Bluesky stream", () => {
  it.each([
    ["the deletion of a post", deletionEvent(NOW)],
    ["a change of an account", identityEvent(NOW)],
    ["an update of a post", changed({ operation: "update" })],
    ["a record of another collection", changed({ collection: "app.bsky.feed.like" })],
  ])("are ignored: %s", (_, event) => {
    expect(readingOf(event)).toBeUndefined();
  });

  it("advance the cursor every ten seconds", () => {
    const read = jetstream.reader(OPTIONS);
    const seconds = Array.from({ length: 25 }, (_, second) => second);
    const told = seconds.map((second) =>
      read(JSON.stringify(identityEvent(NOW + 1_000 * second)), NOW),
    );
    const places = told.flatMap((reading) => (reading ? [Number(reading.cursor) / 1_000] : []));
    expect(places).toEqual([NOW, NOW + 10_000, NOW + 20_000]);
    expect(told[0]?.data).toEqual([]);
  });

  it.each([
    ["an HTML page", "<html>busy</html>"],
    ["truncated JSON", '{"did":"did:plc:a","time_us":1'],
    ["JSON of another schema", '{"error":"busy"}'],
    ["an invalid time", '{"did":"did:plc:a","time_us":"now","kind":"commit"}'],
  ])("are reported as a fault when they are not valid events: %s", (_, message) => {
    const read = jetstream.reader(OPTIONS);
    expect(() => read(message, NOW)).toThrow(ProviderFault);
  });
});

function changed(change: object) {
  const { commit, ...event } = postEvent(POST);
  return { ...event, commit: { ...(commit as object), ...change } };
}

describe("the URL of the Bluesky stream", () => {
  const query = (cursor?: string) => new URL(jetstream.path(cursor), "wss://x").searchParams;

  it("requests posts, from the present on when there is no cursor", () => {
    expect(query().get("wantedCollections")).toBe("app.bsky.feed.post");
    expect(query().has("cursor")).toBe(false);
  });

  it("requests posts from five seconds before the cursor on", () => {
    expect(query("1700000000000000").get("cursor")).toBe("1699999995000000");
  });

  it.each(["", "0", "-1", "NaN", "1e400", "{}", "1.5"])(
    "requests posts from the present on for the invalid cursor %j",
    (cursor) => {
      expect(query(cursor).has("cursor")).toBe(false);
    },
  );
});

describe("a Bluesky stream that disconnects", () => {
  const streams: LocalJetstream[] = [];
  afterEach(() => Promise.all(streams.splice(0).map((stream) => stream.close())));

  it("resumes without a gap, and repeated posts are identical", async () => {
    const span = { from: NOW - 60_000, until: NOW, everyMs: 2_000 };
    const events = drawnEvents(["$AAPL", "$BTC"], span);
    const cut = Math.floor(events.length / 2);
    const stream = await serveJetstream();
    streams.push(stream);
    const follower = createFollower(stream.origin);

    await follower.connect();
    for (const event of events.slice(0, cut)) stream.tell(event);
    await follower.caughtUp(events[cut - 1]?.time_us);
    stream.breakOff();
    await follower.ended();
    for (const event of events.slice(cut)) stream.tell(event);
    await follower.connect();
    await follower.caughtUp(events.at(-1)?.time_us);

    const about = events.filter(({ commit }) => !JSON.stringify(commit).includes("lunch"));
    expect(follower.kept.size).toBe(about.length);
    expect(follower.received.length).toBeGreaterThan(about.length);
    for (const datum of follower.received) expect(follower.kept.get(keyOf(datum))).toEqual(datum);
    expect(stream.visits.map((url) => url.searchParams.has("cursor"))).toEqual([false, true]);
  });
});

const keyOf = ({ symbol, at, id }: Observation): string => JSON.stringify([symbol, at, id]);

/** Follows a stream in memory like the service does. */
function createFollower(origin: string) {
  const read = jetstream.reader(OPTIONS);
  const kept = new Map<string, Observation>();
  const received: Observation[] = [];
  let cursor: string | undefined;
  let socket: WebSocket | undefined;
  let heard = 0;
  return {
    kept,
    received,
    async connect() {
      socket = new WebSocket(origin + jetstream.path(cursor));
      socket.on("message", (message) => {
        const reading = read(String(message), NOW);
        heard = JSON.parse(String(message)).time_us;
        cursor = reading?.cursor ?? cursor;
        received.push(...(reading?.data ?? []));
        for (const datum of reading?.data ?? [])
          kept.set(keyOf(datum), kept.get(keyOf(datum)) ?? datum);
        socket?.emit("heard");
      });
      await once(socket, "open");
    },
    async caughtUp(time: number | undefined) {
      while (heard !== time) await once(socket as WebSocket, "heard");
    },
    async ended() {
      if (socket?.readyState !== WebSocket.CLOSED) await once(socket as WebSocket, "close");
    },
  };
}
