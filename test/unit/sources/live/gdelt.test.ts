import { describe, expect, it } from "vitest";
import { newsTopic } from "../../../../src/sources/live/news-topic.ts";
import type { ParsedResponse } from "../../../../src/sources/live/provider.ts";
import { gdelt } from "../../../../src/sources/live/providers/gdelt.ts";
import { namedInstrument } from "../../../support/instruments.ts";
import { chatter } from "../../../support/providers/chatter.ts";
import { type DriveOptions, drivePolling } from "../../../support/providers/drive.ts";
import { serveGdelt } from "../../../support/providers/gdelt.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW = Date.parse("2026-11-20T15:07:00Z");

const APPLE = namedInstrument("AAPL", "Apple Inc.");
const BITCOIN = namedInstrument("BTC-USD", "Bitcoin");
const OPTIONS = { instruments: [APPLE, BITCOIN], historyFrom: 0, settings: {}, now: NOW };

const TOPICS = new Map([
  ["apple inc", "Apple"],
  ["bitcoin", "Bitcoin"],
]);

describe("the news search term of an instrument", () => {
  it.each([
    ["Apple Inc.", '("Apple Incorporated" OR "Apple Inc")'],
    ["Netflix, Inc.", '("Netflix Incorporated" OR "Netflix Inc")'],
    ["The Walt Disney Company", '("Walt Disney Company" OR "Walt Disney Co")'],
    ["JPMorgan Chase & Co.", '("JPMorgan Chase Company" OR "JPMorgan Chase Co")'],
    [
      "Berkshire Hathaway Inc. Class B",
      '("Berkshire Hathaway Incorporated" OR "Berkshire Hathaway Inc")',
    ],
    ["Linde plc", '"Linde PLC"'],
  ])("contains the legal name of %s in each spelling", (name, query) => {
    expect(newsTopic(namedInstrument("X", name))?.query).toBe(query);
  });

  it("is undefined when the name may be an ordinary word", () => {
    const names = ["Apple", "AAPL", "Johnson & Johnson", "Inc.", "", 'a" OR "b'];
    expect(names.map((name) => newsTopic(namedInstrument("X", name)))).toEqual(
      names.map(() => undefined),
    );
  });

  it("is the name of a coin if that name has no other meaning", () => {
    expect(newsTopic(BITCOIN)?.query).toBe('"bitcoin"');
    expect(newsTopic(namedInstrument("SOL-USD", "Solana"))).toBeUndefined();
  });

  it("must also occur in the headline as whole words", () => {
    const isAbout = newsTopic(APPLE)?.matches;
    expect(isAbout?.("Apple ' s sales fall")).toBe(true);
    expect(isAbout?.("Suppliers of APPLE, Inc.")).toBe(true);
    expect(isAbout?.("Applebee ' s opens, and pineapple is dear")).toBe(false);
    expect(newsTopic(BITCOIN)?.matches("Bitcoin Cash falls")).toBe(false);
    const lilly = newsTopic(namedInstrument("LLY", "Eli Lilly and Company"));
    expect(lilly?.matches("Eli Lilly raises its outlook")).toBe(true);
    expect(lilly?.matches("Eli and Lilly marry")).toBe(false);
  });
});

/** Returns the parsed response to a request about Apple. */
function readingOf(body: string): ParsedResponse {
  const [series] = gdelt.series({ ...OPTIONS, feeds: new Set(["mentions"]) });
  const step = series?.next(undefined, NOW);
  if (step === undefined || "waitUntil" in step) throw new Error("nothing is asked");
  return step.read({
    ...{ status: 200, header: () => undefined },
    ...{ body: Buffer.from(body), receivedAt: NOW },
  });
}

const ARTICLE = {
  url: "https://news.example/1",
  title: "Apple beats expectations",
  seendate: "20261120T140000Z",
};

describe("an article from GDELT", () => {
  it("becomes a mention without an author, dated when GDELT saw it", () => {
    const { data } = readingOf(JSON.stringify({ articles: [ARTICLE] }));
    const at = Date.parse("2026-11-20T14:00:00Z");
    const id = expect.stringMatching(/^gdelt-[0-9a-f]{16}$/);
    const unknown = { author: null, followers: null, stance: null };
    const record = { id, availableAt: at, text: ARTICLE.title, symbolCount: 1, ...unknown };
    expect(data).toEqual([{ feed: "mentions", symbol: "AAPL", at, id, record }]);
  });

  it("is skipped when its headline is about something else", () => {
    const article = { ...ARTICLE, title: "Markets rise" };
    expect(readingOf(JSON.stringify({ articles: [article] })).data).toEqual([]);
  });

  it("is quarantined when it is dated in the future", () => {
    const article = { ...ARTICLE, seendate: "20261120T160000Z" };
    expect(readingOf(JSON.stringify({ articles: [article] })).rejected).toHaveLength(1);
  });

  it("does not exist in a response without results", () => {
    expect(readingOf("{}").data).toEqual([]);
  });
});

describe("an invalid response of GDELT", () => {
  it.each([
    [
      "a request to send fewer requests",
      "Please limit requests to one every 5 seconds or ...",
      "limited",
    ],
    ["an error message as text", "The specified phrase is too short.", "malformed"],
    ["an HTML page", "<html>", "malformed"],
    ["truncated JSON", '{"articles":[{"url":', "malformed"],
    ["JSON of another schema", '{"articles":[{"url":1}]}', "malformed"],
    [
      "an article with an invalid date",
      JSON.stringify({ articles: [{ ...ARTICLE, seendate: "today" }] }),
      "malformed",
    ],
  ])("is reported as a fault: %s", (_, body, kind) => {
    expect(() => readingOf(body)).toThrow(expect.objectContaining({ kind }));
  });
});

describe("the polling of GDELT", () => {
  const world = { topics: TOPICS, everyMs: 20 * MINUTE_MS };
  const follow = (options: Partial<DriveOptions>, everyMs = world.everyMs) =>
    drivePolling(gdelt, serveGdelt({ ...world, everyMs }), { ...OPTIONS, ...options });

  /** The expected headlines about Apple that GDELT saw between two instants. */
  const wanted = (from: number, until: number, everyMs = world.everyMs) => {
    const round = 15 * MINUTE_MS;
    const seen = (at: number) => Math.ceil(at / round) * round;
    return chatter("Apple", { from: from - round, until, everyMs })
      .filter(({ at }) => seen(at) >= from && seen(at) < until)
      .map(({ text }) => text.replaceAll(",", " ,"));
  };
  const headlines = ({ data }: ReturnType<typeof follow>) =>
    data.flatMap(({ symbol, record }) =>
      symbol === "AAPL" && "text" in record ? [record.text] : [],
    );
  const round = (at: number) => Math.floor(at / (15 * MINUTE_MS)) * 15 * MINUTE_MS;

  it("reads each article of the last two days and of the next day once", () => {
    const until = NOW + 24 * HOUR_MS;
    const got = headlines(follow({ until }));
    const from = round(NOW - 48 * HOUR_MS);
    expect(new Set(got).size).toBe(got.length);
    expect(got.toSorted()).toEqual(
      expect.arrayContaining(wanted(from, until - 2 * HOUR_MS).toSorted()),
    );
  });

  it("continues page by page beyond 250 articles, even after it was killed", () => {
    const busy = 5 * MINUTE_MS;
    const whole = follow({ instruments: [APPLE] }, busy);
    expect(whole.requests.length).toBeGreaterThan(2);
    expect(headlines(whole)).toEqual(
      wanted(round(NOW - 48 * HOUR_MS), round(NOW - 15 * MINUTE_MS), busy),
    );
    const part = follow({ instruments: [APPLE], killAfter: 1 }, busy);
    const rest = follow({ instruments: [APPLE], cursors: part.cursors }, busy);
    expect(new Set([...headlines(part), ...headlines(rest)])).toEqual(new Set(headlines(whole)));
  });

  it("keeps its cursor at or before the present even if a full page of articles is dated in the future", () => {
    const articles = Array.from({ length: 250 }, (_, index) => ({
      ...{ url: `https://news.example/${index}`, title: "Apple", seendate: "29990101T000000Z" },
    }));
    const always = { status: 200, body: JSON.stringify({ articles }) };
    const { cursors } = drivePolling(gdelt, () => always, { ...OPTIONS, instruments: [APPLE] });
    expect(JSON.parse(cursors.AAPL ?? "").from).toBeLessThanOrEqual(NOW);
  });

  it("ends even if more articles are published in one round than can be read", () => {
    const { requests } = follow({ instruments: [APPLE], historyFrom: NOW - 3 * HOUR_MS }, 2_000);
    expect(requests.length).toBeLessThan(20);
  });

  it("sends at most one request every five seconds, only for instruments with a search term", () => {
    const nameless = namedInstrument("ZZZ", "ZZZ");
    const { requests } = follow({
      instruments: [APPLE, nameless, BITCOIN],
      until: NOW + 6 * HOUR_MS,
    });
    expect(new Set(requests.map(({ key }) => key))).toEqual(new Set(["AAPL", "BTC-USD"]));
    const gaps = requests.slice(1).map(({ at }, index) => at - (requests[index]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5_000);
  });
});
