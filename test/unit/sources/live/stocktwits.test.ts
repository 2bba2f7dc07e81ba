import { describe, expect, it } from "vitest";
import type { ParsedResponse } from "../../../../src/sources/live/provider.ts";
import type { ProviderResponse } from "../../../../src/sources/live/provider-response.ts";
import { stocktwits } from "../../../../src/sources/live/providers/stocktwits.ts";
import { instrument } from "../../../support/instruments.ts";
import { chatter } from "../../../support/providers/chatter.ts";
import { type DriveOptions, drivePolling, type Serve } from "../../../support/providers/drive.ts";
import { serveStocktwits } from "../../../support/providers/stocktwits.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOW = Date.parse("2026-11-20T15:00:00Z");

const OPTIONS = {
  instruments: ["AAPL", "BRK-B", "BTC-USD"].map(instrument),
  historyFrom: 0,
  settings: {},
  now: NOW,
};

const WORLD = { symbols: ["AAPL", "BRK.B", "BTC.X"], everyMs: 20 * MINUTE_MS };

const MESSAGE = {
  id: 5_000,
  body: "$AAPL isn&#39;t done &amp; I&#39;m in",
  created_at: "2026-11-20T14:30:00Z",
  user: { id: 77, username: "writer77", followers: 1_200, join_date: "2026-11-10" },
  symbols: [{ symbol: "AAPL" }, { symbol: "MSFT" }],
  entities: { sentiment: { basic: "Bullish" } },
};

/** Returns the parsed response to a request about AAPL. */
function readingOf(body: unknown, cursor?: string): ParsedResponse {
  const [series] = stocktwits.series({ ...OPTIONS, feeds: new Set(["mentions"]) });
  const step = series?.next(cursor, NOW);
  if (step === undefined || "waitUntil" in step) throw new Error("nothing is asked");
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer: ProviderResponse = {
    status: 200,
    header: () => undefined,
    body: Buffer.from(text),
    receivedAt: NOW,
  };
  return step.read(answer);
}

const withMessage = (change: object) => readingOf({ messages: [{ ...MESSAGE, ...change }] });
const recordWith = (change: object) => withMessage(change).data[0]?.record;

describe("a message on Stocktwits", () => {
  it("becomes a mention with its author's stance, reach and account age, but not the author's name", () => {
    const reading = readingOf({ response: { status: 200 }, messages: [MESSAGE] });
    const at = Date.parse(MESSAGE.created_at);
    expect(reading.data).toEqual([
      {
        ...{ feed: "mentions", symbol: "AAPL", at, id: "stocktwits-5000" },
        record: {
          id: "stocktwits-5000",
          availableAt: at,
          text: "$AAPL isn't done & I'm in",
          author: expect.stringMatching(/^[0-9a-f]{16}$/),
          followers: 1_200,
          accountAgeDays: 10,
          symbolCount: 2,
          stance: "bullish",
        },
      },
    ]);
    expect(JSON.stringify(reading)).not.toContain("writer77");
  });

  it("may lack optional members", () => {
    const bare = { user: { id: 77 }, symbols: undefined, entities: { sentiment: null } };
    expect(recordWith(bare)).toMatchObject({
      ...{ followers: null, accountAgeDays: null, symbolCount: 1, stance: null },
    });
    expect(recordWith({ entities: null })).toMatchObject({ stance: null });
    expect(recordWith({ entities: { sentiment: { basic: "Unsure" } } })).toMatchObject({
      stance: null,
    });
  });

  it("is quarantined when it is dated after its arrival", () => {
    const { data, rejected } = withMessage({ created_at: "2026-11-20T15:06:00Z" });
    expect(data).toEqual([]);
    expect(rejected).toHaveLength(1);
  });

  it("is skipped when it is older than two days", () => {
    expect(withMessage({ created_at: "2026-11-18T14:59:59Z" }).data).toEqual([]);
    expect(withMessage({ created_at: "2026-11-18T15:00:00Z" }).data).toHaveLength(1);
  });
});

describe("an invalid response of Stocktwits", () => {
  it.each([
    ["an HTML page", "<html>Just a moment...</html>", "malformed"],
    ["truncated JSON", '{"messages":[{"id":1', "malformed"],
    ["JSON of another schema", { messages: [{ id: "one" }] }, "malformed"],
    ["a response without messages", { response: { status: 200 } }, "malformed"],
    ["a rate limit with status 200", { response: { status: 429 }, errors: [] }, "limited"],
    ["a refusal with status 200", { response: { status: 403 }, errors: [] }, "refused"],
  ])("is reported as a fault: %s", (_, body, kind) => {
    expect(() => readingOf(body)).toThrow(expect.objectContaining({ kind }));
  });
});

describe("the polling of Stocktwits", () => {
  const idsOf = (options: Partial<DriveOptions>, serve: Serve = serveStocktwits(WORLD)) =>
    drivePolling(stocktwits, serve, { ...OPTIONS, ...options });

  it("requests symbols in the platform's spelling", () => {
    const { requests } = idsOf({});
    const paths = requests.map(({ path }) => path.split("?")[0]);
    expect([...new Set(paths)]).toEqual([
      "/api/2/streams/symbol/AAPL.json",
      "/api/2/streams/symbol/BRK.B.json",
      "/api/2/streams/symbol/BTC.X.json",
    ]);
  });

  it.each([true, false])(
    "stores each message of a day once (the parameter max is inclusive: %s)",
    (isMaxInclusive) => {
      const serve = serveStocktwits({ ...WORLD, isMaxInclusive });
      const { data } = idsOf({ until: NOW + 24 * HOUR_MS }, serve);
      const span = { from: NOW, until: NOW + 23 * HOUR_MS, everyMs: WORLD.everyMs };
      const wanted = chatter("$AAPL", span).map(({ at }) => at);
      const got = data.filter(
        ({ symbol, at }) => symbol === "AAPL" && at < span.until && at >= NOW,
      );
      expect(got.map(({ at }) => at).sort()).toEqual(wanted);
    },
  );

  it.each([true, false])(
    "pages back through a busy hour (the parameter max is inclusive: %s)",
    (isMaxInclusive) => {
      const serve = serveStocktwits({ ...WORLD, everyMs: MINUTE_MS, isMaxInclusive });
      const { cursors } = idsOf({}, serve);
      const { requests, data } = idsOf({ now: NOW + HOUR_MS, cursors }, serve);
      expect(requests.filter(({ key }) => key === "AAPL").length).toBe(3);
      const times = data.filter(({ symbol }) => symbol === "AAPL").map(({ at }) => at);
      const span = { from: NOW, until: NOW + HOUR_MS, everyMs: MINUTE_MS };
      expect(times.toSorted()).toEqual(chatter("$AAPL", span).map(({ at }) => at));
    },
  );

  it("pages back at most four pages, and stops if the parameter max has no effect", () => {
    const serve = serveStocktwits({ ...WORLD, everyMs: MINUTE_MS });
    const deaf: Serve = (request, now) => {
      request.url.searchParams.delete("max");
      return serve(request, now);
    };
    expect(idsOf({}, serve).requests).toHaveLength(3 * 4);
    expect(idsOf({}, deaf).requests).toHaveLength(3 * 2);
  });

  it("resumes after it was killed in the middle of a poll", () => {
    const serve = serveStocktwits({ ...WORLD, everyMs: MINUTE_MS });
    const options = { instruments: [instrument("AAPL")] };
    const whole = idsOf(options, serve);
    const part = idsOf({ ...options, killAfter: 2 }, serve);
    const rest = idsOf({ ...options, cursors: part.cursors }, serve);
    expect([...part.data, ...rest.data]).toEqual(whole.data);
  });

  it("restarts when it cannot parse its cursor", () => {
    const { data } = idsOf({ cursors: { AAPL: "17", "BRK-B": "{", "BTC-USD": '{"seen":"x"}' } });
    expect(data).toEqual(idsOf({}).data);
  });

  it("stays within 200 requests per hour for 500 symbols, which are polled equally often", () => {
    const tickers = Array.from({ length: 500 }, (_, index) => {
      const letters = [index / 26, index % 26].map((code) => String.fromCharCode(65 + code));
      return `Q${letters.join("")}`;
    });
    const serve = serveStocktwits({ symbols: tickers, everyMs: 6 * HOUR_MS });
    const { requests } = idsOf(
      { instruments: tickers.map(instrument), until: NOW + 6 * HOUR_MS },
      serve,
    );
    const turns = Map.groupBy(requests, ({ key }) => key);
    expect(turns.size).toBe(500);
    const counts = [...turns.values()].map((asked) => asked.length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  it("pauses an unknown symbol for a day", () => {
    const serve = serveStocktwits({ ...WORLD, symbols: ["BTC.X"] });
    const { requests, unknown } = idsOf({ until: NOW + 23 * HOUR_MS }, serve);
    expect(requests.filter(({ key }) => key === "AAPL")).toHaveLength(1);
    expect([unknown.AAPL, unknown["BTC-USD"]]).toEqual([["AAPL"], []]);
    expect(requests.filter(({ key }) => key === "BTC-USD").length).toBeGreaterThan(200);
  });
});
