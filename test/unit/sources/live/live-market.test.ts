import { describe, expect, it } from "vitest";
import { newYorkInstant } from "../../../../src/market/new-york.ts";
import type { InstrumentRecords } from "../../../../src/market/records.ts";
import { MESSAGE_WEIGHT_RULES } from "../../../../src/messages/message-weight.ts";
import { ScoringEngine } from "../../../../src/score/scoring-engine.ts";
import type { PastSnapshot } from "../../../../src/score/snapshot.ts";
import { createSnapshotArchive } from "../../../../src/score/snapshot-archive.ts";
import { LiveMarket, mentionsKeptFrom } from "../../../../src/sources/live/live-market.ts";
import { MAX_MESSAGES_PER_AUTHOR_DAY } from "../../../../src/sources/live/message-retention.ts";
import {
  addDays,
  coinBarKnownAt,
  stockBarKnownAt,
} from "../../../../src/sources/live/publication-times.ts";
import type { ReceivedObservation } from "../../../../src/sources/live/record-book.ts";
import { instrument } from "../../../support/instruments.ts";
import { coinDay, utcDays } from "../../../support/providers/coins.ts";

const NOW = Date.UTC(2026, 10, 21, 12);
const LAST_DAY = "2026-11-20";
const COINS = ["BTC-USD", "ETH-USD", "SOL-USD"].map(instrument);

const source = (id: string) => ({ id, name: id, terms: `Terms of ${id}.`, simulated: false });
const SOURCES = new Map(["one", "other"].map((id) => [id, source(id)] as const));

const newMarket = () => new LiveMarket(COINS, SOURCES);

/** A daily bar of a coin, observed three seconds after its publication by default. */
function bar(symbol: string, session: string, observedAt = coinBarKnownAt(session) + 3_000) {
  const record = { session, availableAt: coinBarKnownAt(session), dividend: 0, split: 1 };
  const at = Date.parse(session);
  return {
    ...{ feed: "bars", symbol, at, id: session, provider: "one", observedAt },
    record: { ...record, ...coinDay(symbol, session) },
  } satisfies ReceivedObservation;
}

/** Daily bars of all coins, observed at the same time. */
const history = (from: string, to: string, observedAt = NOW): readonly ReceivedObservation[] =>
  COINS.flatMap(({ symbol }) => utcDays(from, to).map((day) => bar(symbol, day, observedAt)));

const mention = (at: number, provider: string): ReceivedObservation => ({
  ...{ feed: "mentions", symbol: "BTC-USD", at, id: provider, provider, observedAt: at },
  record: {
    ...{ id: `${provider} ${at}`, text: "Up it goes.", author: null, followers: null },
    ...{ symbolCount: 1, stance: null, availableAt: at },
  },
});

function scored(market: LiveMarket) {
  const snapshots = createSnapshotArchive();
  const engine = new ScoringEngine(market, snapshots);
  return (at: number) => {
    engine.refresh(at);
    const closed = COINS.map(({ symbol }) => [...snapshots.history(symbol, 0, at)]);
    return { newest: snapshots.allNewest(), closed };
  };
}

describe("history that arrives after sessions have been scored", () => {
  const [recent, earlier] = [history("2026-10-01", LAST_DAY), history("2025-06-01", "2026-09-30")];
  const later = NOW + 3_600_000;

  it("is listed in the same order, whatever the order of instruments in the setting", () => {
    const market = new LiveMarket(COINS.toReversed(), SOURCES);
    market.take(recent);
    const symbols = market.recordsUntil(NOW).map(({ instrument: { symbol } }) => symbol);
    expect(symbols).toEqual(["BTC-USD", "ETH-USD", "SOL-USD"]);
  });

  it("is scored as if it had arrived on time", () => {
    const [early, whole] = [newMarket(), newMarket()];
    const score = scored(early);
    early.take(recent);
    const before = score(NOW);
    early.take(earlier);
    whole.take([...recent, ...earlier]);
    const after = score(later);
    expect(after).toEqual(scored(whole)(later));
    expect(after.closed[0]?.length).toBe(538);
    expect(before.closed[0]?.length).toBe(51);
    expect(after.newest[0]?.score).not.toBe(before.newest[0]?.score);
  });

  it("causes no revision when it arrives in order", () => {
    const market = newMarket();
    market.take(recent);
    const list = market.recordsUntil(NOW);
    const revision = market.revision();
    market.take(COINS.map(({ symbol }) => bar(symbol, "2026-11-21")));
    expect(market.recordsUntil(NOW + 86_400_000)).toBe(list);
    expect(market.revision()).toBe(revision);
    expect(list.map(({ bars }) => bars.at(-1)?.session)).toEqual(COINS.map(() => "2026-11-21"));
  });
});

it("late records are applied soon at first, then at growing intervals, and soon again after a quiet period", () => {
  const market = newMarket();
  const revisedAt: number[] = [];
  let [at, day] = [NOW, LAST_DAY];
  const late = () => {
    market.take([bar("BTC-USD", day)]);
    day = addDays(day, -1);
  };
  const lookUntil = (end: number) => {
    for (; at < end; at += 1_000) {
      const before = market.revision();
      market.recordsUntil(at);
      if (market.revision() === before) continue;
      revisedAt.push((at - NOW) / 1_000);
      late();
    }
  };
  late();
  lookUntil(NOW + 300_000);
  expect(revisedAt).toEqual([0, 5, 15, 35, 75, 135, 195, 255]);
  at = NOW + 1_000_000;
  lookUntil(NOW + 1_020_000);
  expect(revisedAt.slice(8)).toEqual([1_000, 1_005, 1_015]);
});

it("all processes have the same ids and figures for a closed session, in whatever order and however late they read its records", () => {
  const [early, late] = [newMarket(), newMarket()];
  const [score, scoreLate] = [scored(early), scored(late)];
  // Two kinds of records that are known at the same instant: the first bars of the coins, and the
  // messages of one response.
  const past = [...history("2025-06-01", LAST_DAY), mention(NOW - 9_000, "one")];
  const answer = ["m3", "m1", "m2"].map((provider) => ({
    ...mention(NOW, provider),
    observedAt: NOW + 1_000,
  }));
  early.take(past);
  late.take(past.toReversed());
  early.take(answer);
  for (const at of [NOW, NOW + 2_000, NOW + 3_000]) score(at);
  // This process scores the instant of the messages before it reads them.
  for (const at of [NOW, NOW + 2_000]) scoreLate(at);
  late.take(answer.toReversed());
  const meanwhile = [score(NOW + 4_000), scoreLate(NOW + 4_000)] as const;
  expect(seriesOf(meanwhile[1].newest)).not.toEqual(seriesOf(meanwhile[0].newest));

  for (const one of [early, late]) one.take(COINS.map(({ symbol }) => bar(symbol, "2026-11-21")));
  const close = coinBarKnownAt("2026-11-21") + 3_000;
  expect(scoreLate(close)).toEqual(score(close));
  expect(new Set(seriesOf(score(close).newest)).size).toBe(1);
  expect(late.revision()).toBe((early.revision() ?? 0) + 1);
});

it("a late message about a stock is included in the ids of coins whose session closes at the weekend", () => {
  const [early, late] = [0, 1].map(
    () => new LiveMarket([...COINS, instrument("AAPL")], SOURCES),
  ) as [LiveMarket, LiveMarket];
  const [score, scoreLate] = [scored(early), scored(late)];
  const about = (at: number) => ({ ...mention(at, "one"), symbol: "AAPL" });
  for (const one of [early, late]) {
    one.take([...history("2026-10-01", LAST_DAY), about(NOW - 9_000)]);
    one.recordsUntil(NOW);
  }
  early.take([about(NOW + 1_000)]);
  for (const at of [NOW + 2_000, NOW + 3_000]) score(at);
  scoreLate(NOW + 3_000);
  late.take([about(NOW + 1_000)]);
  for (const one of [early, late]) one.take(COINS.map(({ symbol }) => bar(symbol, "2026-11-21")));
  // The close is on a Saturday.
  const close = coinBarKnownAt("2026-11-21") + 3_000;
  expect(scoreLate(close)).toEqual(score(close));
});

const seriesOf = (snapshots: readonly PastSnapshot[]) => snapshots.map(({ series }) => series);

describe("a machine clock that was ahead", () => {
  const DAY_MS = 86_400_000;

  it.each([1 / 24, 1, 40, 365])(
    "by %d days does not affect later scores once the clock is corrected",
    (days) => {
      const [market, other] = [newMarket(), newMarket()];
      const [score, scoreOther] = [scored(market), scored(other)];
      for (const one of [market, other]) one.take(history("2025-06-01", LAST_DAY));
      score(NOW);
      score(NOW + days * DAY_MS);
      const fresh = ["2026-11-21", "2026-11-22"].flatMap((day) =>
        COINS.map(({ symbol }) => bar(symbol, day)),
      );
      market.take(fresh.slice(0, COINS.length));
      market.startOver(NOW + 5_000);
      score(NOW + 5_000);
      market.take(fresh.slice(COINS.length));
      other.take(fresh);
      const later = NOW + 2 * DAY_MS;
      expect(score(later)).toEqual(scoreOther(later));
      const before = market.revision();
      market.recordsUntil(later + 600_000);
      expect(market.revision()).toBe(before);
    },
  );
});

describe("messages from several providers", () => {
  const started = () => {
    const market = newMarket();
    market.take([mention(NOW - 1_000, "one")]);
    return { market, list: market.recordsUntil(NOW), before: market.revision() };
  };
  const countOf = ([first]: readonly InstrumentRecords[]) => first?.mentions?.length;

  it("may arrive in any order without causing a revision", () => {
    const { market, list, before } = started();
    const at = NOW + 700_000;
    const slow = { ...mention(at - 60_000, "one"), observedAt: at + 200 };
    market.take([slow, mention(at - 1_000, "other")]);
    expect(market.recordsUntil(at + 1_000)).toBe(list);
    expect(market.revision()).toBe(before);
    const times = Array.from(list[0]?.mentions ?? [], ({ availableAt }) => availableAt - at);
    expect(times).toEqual([NOW - 1_000 - at, -1_000, 200]);
  });

  it("do not count as late in a process whose clock was ahead", () => {
    const { market, list, before } = started();
    for (let minute = 1; minute <= 60; minute++) {
      const at = NOW + minute * 60_000;
      market.recordsUntil(at + 30_000);
      market.take([mention(at, `m${minute}`)]);
    }
    expect(market.recordsUntil(NOW + 4_000_000)).toBe(list);
    expect(market.revision()).toBe(before);
    expect(countOf(list)).toBe(61);
  });

  it("are limited in memory to the newest, and repeated messages are not stored again", () => {
    const market = new LiveMarket(COINS, SOURCES, new Set(), 100);
    const message = (minute: number) => ({
      ...mention(NOW + minute * 60_000, `m${minute}`),
      symbol: COINS[minute % 3]?.symbol ?? "",
    });
    const all = Array.from({ length: 1_000 }, (_, minute) => message(minute));
    for (const one of all) market.take([one]);
    const count = () =>
      market
        .recordsUntil(NOW + 86_400_000)
        .reduce((sum, { mentions = [] }) => sum + mentions.length, 0);
    const kept = count();
    expect(kept).toBeGreaterThan(79);
    expect(kept).toBeLessThan(101);
    market.take(all.slice(0, 500));
    expect(market.revision()).toBe(1);
    expect(count()).toBe(kept);
    const times = market.recordsUntil(NOW).flatMap(({ mentions = [] }) => [...mentions]);
    expect(Math.min(...times.map(({ availableAt }) => availableAt))).toBeGreaterThan(
      NOW + 898 * 60_000,
    );
  });

  it("cannot be crowded out by the messages of one author", () => {
    const market = new LiveMarket(COINS, SOURCES, new Set(), 1_000);
    const by = (author: string | null, minute: number): ReceivedObservation => {
      const one = mention(NOW + minute * 60_000, `${author} ${minute}`);
      return { ...one, record: { ...one.record, author } } as ReceivedObservation;
    };
    const others = Array.from({ length: 400 }, (_, minute) => by(`a${minute % 100}`, minute));
    const headlines = Array.from({ length: 200 }, (_, minute) => by(null, minute));
    market.take([...others, ...headlines]);
    for (let minute = 0; minute < 600; minute++) {
      // One message about two coins counts as one message.
      const one = by("one", minute);
      market.take([one, { ...one, symbol: "ETH-USD" }]);
    }
    const left = market
      .recordsUntil(NOW + 86_400_000)
      .flatMap(({ mentions = [] }) => Array.from(mentions, ({ author }) => author));
    const countOf = (isMeant: (author: string | null) => boolean) => left.filter(isMeant).length;
    expect(countOf((author) => author === null)).toBe(200);
    expect(countOf((author) => author?.startsWith("a") ?? false)).toBe(400);
    expect(MAX_MESSAGES_PER_AUTHOR_DAY).toBe(MESSAGE_WEIGHT_RULES.maxMessagesPerDay + 1);
    expect(countOf((author) => author === "one")).toBeGreaterThanOrEqual(
      2 * MAX_MESSAGES_PER_AUTHOR_DAY,
    );
    expect(left.length).toBeLessThanOrEqual(1_000);
  });

  it("expire relative to the newest message, not to a clock that is ahead", () => {
    const { market } = started();
    market.recordsUntil(NOW + 365 * 86_400_000);
    market.startOver(NOW);
    market.take([mention(NOW + 1_000, "other")]);
    expect(countOf(market.recordsUntil(NOW + 2_000))).toBe(2);
  });

  it("expire in the first month that begins at least 180 days after them, in every process", () => {
    const { market, before } = started();
    const days = (count: number) => NOW + count * 86_400_000;
    // June 1, 2027 is 180 days after December 3, 2026.
    const day = (date: string) => (Date.parse(`${date}T12:00Z`) - NOW) / 86_400_000;
    for (let next = 1; next < day("2027-05-31"); next++) market.recordsUntil(days(next));
    market.take([mention(days(day("2027-05-31")), "other")]);
    expect(countOf(market.recordsUntil(days(day("2027-05-31"))))).toBe(2);
    market.take([mention(days(day("2027-06-01")), "other")]);
    expect(countOf(market.recordsUntil(days(day("2027-06-01"))))).toBe(2);
    expect(market.revision()).toBe((before ?? 0) + 2);

    const later = newMarket();
    const from = mentionsKeptFrom(days(day("2027-06-01")), days(day("2027-06-01")));
    for (const at of [NOW - 1_000, days(day("2027-05-31")), days(day("2027-06-01"))]) {
      if (at >= from) later.take([mention(at, "other")]);
    }
    expect(countOf(later.recordsUntil(days(day("2027-06-01"))))).toBe(2);
  });

  it("expire with the first message of a month, not with the clock", () => {
    const { market, before } = started();
    const month = Date.parse("2027-06-01T00:00Z");
    market.take([mention(month - 1_000, "other")]);
    market.recordsUntil(month - 1);
    for (const at of [month, month + 600_000]) expect(countOf(market.recordsUntil(at))).toBe(2);
    market.take([mention(month + 700_000, "other")]);
    expect(countOf(market.recordsUntil(month + 700_001))).toBe(2);
    expect(countOf(market.recordsUntil(month + 9_000_000))).toBe(2);
    expect(market.revision()).toBe((before ?? 0) + 2);
  });
});

describe("the time at which bars are due", () => {
  const due = (from: string, to: string, assetClass: "stock" | "crypto") =>
    newMarket().barsDue?.(Date.parse(from), Date.parse(to), assetClass);

  it("follows the exchange calendar: no bar on Thanksgiving, and 16:45 New York time even on a half day", () => {
    const all = due("2026-11-24T00:00:00Z", "2026-12-01T00:00:00Z", "stock");
    const sessions = ["2026-11-24", "2026-11-25", "2026-11-27", "2026-11-30"];
    expect(all).toEqual(sessions.map((session) => newYorkInstant(session, "16:45")));
  });

  it("is once every day for coins", () => {
    expect(due("2026-11-24T00:05:00Z", "2026-11-26T00:05:00Z", "crypto")).toEqual([
      coinBarKnownAt("2026-11-24"),
      coinBarKnownAt("2026-11-25"),
    ]);
  });

  it("is listed if it is after the first instant and not after the last", () => {
    const [first, last] = [stockBarKnownAt("2026-11-24"), stockBarKnownAt("2026-11-25")];
    expect(newMarket().barsDue?.(first, last, "stock")).toEqual([last]);
    expect(newMarket().barsDue?.(first - 1, last - 1, "stock")).toEqual([first]);
    expect(newMarket().barsDue?.(last, last, "stock")).toEqual([]);
  });
});

describe("a live market", () => {
  it("lists the sources of each feed of an instrument, and no other sources", () => {
    const market = newMarket();
    const giversOf = (symbol: string) =>
      [...(market.sourcesOf?.(symbol) ?? [])].map(([feed, givers]) => [
        feed,
        givers.map(({ id }) => id),
      ]);
    expect(giversOf("BTC-USD")).toEqual([]);
    market.take([mention(NOW, "other"), mention(NOW + 1, "one"), bar("BTC-USD", LAST_DAY)]);
    market.take([{ ...bar("ETH-USD", LAST_DAY), provider: "one of an older version" }]);
    expect(giversOf("BTC-USD")).toEqual([
      ["bars", ["one"]],
      ["mentions", ["one", "other"]],
    ]);
    expect(giversOf("ETH-USD")).toEqual([["bars", []]]);
    expect(market.sourcesOf?.("BTC-USD").get("bars")?.[0]?.terms).toBe("Terms of one.");
  });

  it("lists tracked instruments and ignores records of other instruments", () => {
    const market = newMarket();
    market.take([bar("DOGE-USD", LAST_DAY)]);
    expect(market.recordsUntil(NOW)).toEqual([]);
    expect(market.followed).toBe(COINS);
  });

  it("is scored from the start of the previous year in New York, with UTC days as the sessions of coins", () => {
    const market = newMarket();
    const newYear = Date.parse("2027-01-01T04:59:59Z");
    expect(market.servedFrom(newYear)).toBe(Date.parse("2025-01-01T05:00:00Z"));
    expect(market.servedFrom(newYear + 1_000)).toBe(Date.parse("2026-01-01T05:00:00Z"));
    const evening = Date.parse("2026-11-21T00:30:00Z");
    expect(market.sessionAt(evening, "stock")).toBe("2026-11-20");
    expect(market.sessionAt(evening, "crypto")).toBe("2026-11-21");
  });
});
